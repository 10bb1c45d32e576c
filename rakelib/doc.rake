# frozen_string_literal: true

desc "Make the reference of skep's classes, in tmp/doc"
task :doc do
  sh "yard", "doc", "--quiet", verbose: false
  puts "tmp/doc/index.html"
end

# Which files are public is in .yardopts. A signature alone is no text.
namespace :doc do
  desc "Fail if a public object has no text, or a page names an object that isn't public"
  task :check do
    require_relative "yard/reference"
    reference = Reference.new
    pages = FileList["README.md", "docs/{*,guides/**/*,reference/*,articles/*}.md"]
    undocumented, unknown = reference.undocumented, reference.unknown(pages)
    abort "doc: no text for\n#{undocumented.join("\n")}" if undocumented.any?
    abort "doc: guides name what the reference lacks: #{unknown.join(" ")}" if unknown.any?
  end
end
