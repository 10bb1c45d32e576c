# frozen_string_literal: true

desc "Make the reference of skep's classes, in tmp/doc"
task :doc do
  sh "yard", "doc", "--quiet", verbose: false
  puts "tmp/doc/index.html"
end

# Which files are public is in .yardopts. A signature alone is no text.
namespace :doc do
  desc "Fail where something public has no text, or a guide names what isn't public"
  task :check do
    require_relative "yard/reference"
    reference = Reference.new
    pages = FileList["README.md", "docs/*.md"]
    silent, strangers = reference.silent, reference.strangers(pages)
    abort "doc: these have no text:\n#{silent.join("\n")}" if silent.any?
    abort "doc: guides name these, which it hasn't: #{strangers.join(" ")}" if strangers.any?
  end
end
