# frozen_string_literal: true

require_relative "lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "A process supervisor for Ruby workers"
  spec.description = "Loads an application once, forks nodes from it, and replaces nodes that " \
                     "crash, hang or leak. Restarts and reloads without downtime. Linux first, " \
                     "with pure-Ruby fallbacks. Other gems add consumers of Kafka (skep-kafka), " \
                     "a web page (skep-web), Rails (skep-rails) and a parallel map (skep-map)."

  spec.required_ruby_version = ">= 3.1"
  spec.extensions = ["ext/skep/extconf.rb"]
  spec.bindir = "exe"
  spec.executables = ["skep"]
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "ext/**/*.{c,h,rb}", "exe/*", "sig/*.rbs", "completions/*", "data/*",
        "man/*.1", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  # The project has no public address, so there is no source_code_uri or changelog_uri. RubyGems
  # warns of a missing homepage; names below .invalid are reserved and never exist (RFC 2606).
  spec.homepage = "https://skep.invalid"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
