# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-guests"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "Puma, Sidekiq, Solid Queue and Karafka in the nodes of a swarm of skep"
  spec.description = "Sources of work that run these servers in nodes: skep replaces a node that " \
                     "crashes, hangs or leaks, and loads new code without a stop. The servers " \
                     "are those of the application: the gem depends on none of them."

  spec.required_ruby_version = ">= 3.1"
  spec.add_dependency "skep", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "exe/*", "sig/*.rbs", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.bindir = "exe"
  spec.executables = ["skep-listen"]
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
