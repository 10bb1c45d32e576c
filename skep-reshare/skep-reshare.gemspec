# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-reshare"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "Experimental: keeps the heaps of skep's nodes shared through garbage collections"
  spec.description = "Places Ruby's records of its heap pages in memory of their own, and shares " \
                     "them again with the parent process after each garbage collection. For that " \
                     "it replaces two calls of Ruby's library in the running process."

  spec.required_ruby_version = ">= 3.1"
  spec.extensions = ["ext/skep_reshare/extconf.rb"]
  spec.add_dependency "skep", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "ext/**/*.{c,h,rb}", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
