# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-kafka"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "Kafka consumers in a swarm of supervised processes"
  spec.description = "Feeds the nodes of a skep swarm with messages from Kafka: retries, dead " \
                     "letter topics, ordering by key, exactly-once output. With a producer, and " \
                     "an embedded broker for tests."

  spec.required_ruby_version = ">= 3.1"
  spec.extensions = ["ext/skep_kafka/extconf.rb"]
  spec.add_dependency "karafka-rdkafka", ">= 0.21.0", "< 1"
  spec.add_dependency "skep", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "ext/**/*.{c,h,rb}", "sig/*.rbs", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
