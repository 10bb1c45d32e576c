# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-map"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "A parallel map in forked processes"
  spec.description = "Skep.map calls a block with each item of a collection in forked " \
                     "processes, and returns the results in order. A process that crashes is " \
                     "replaced."

  spec.required_ruby_version = ">= 3.1"
  spec.add_dependency "skep", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "sig/*.rbs", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
