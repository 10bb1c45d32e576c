# frozen_string_literal: true

require_relative "lib/skep/version"

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
  spec.files = Dir.chdir(__dir__) do
    ["ext/skep_reshare/README.md", "LICENSE",
     *Dir["lib/skep/{,plugin/}reshare{.rb,/**/*.rb}", "ext/skep_reshare/**/*.{c,h,rb}"]]
  end
  spec.add_dependency "skep", Skep::VERSION
  # As in skep.gemspec.
  spec.homepage = "https://skep.invalid"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
