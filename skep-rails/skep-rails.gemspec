# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-rails"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "skep in Rails: generator, executor, Active Job on Kafka"
  spec.description = "Runs a swarm's handlers in Rails' executor, generates the swarm's " \
                     "file, and runs Active Job's jobs through Kafka."

  spec.required_ruby_version = ">= 3.1"
  spec.add_dependency "railties", ">= 7.2", "< 9"
  spec.add_dependency "skep", Skep::VERSION
  spec.add_dependency "skep-kafka", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "sig/*.rbs", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
