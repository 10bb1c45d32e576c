# frozen_string_literal: true

require_relative "lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "A process supervisor for Ruby workers and Kafka consumers"
  spec.description = "Loads an application once, forks nodes from it, replaces nodes that crash, " \
                     "hang or leak, and feeds them messages from Kafka. Restarts and reloads " \
                     "without downtime. Linux first, with pure-Ruby fallbacks."

  spec.required_ruby_version = ">= 3.1"
  spec.extensions = ["ext/skep/extconf.rb"]
  spec.bindir = "exe"
  spec.executables = ["skep"]
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "ext/skep/**/*.{c,h,rb}", "ext/skep/depend", "exe/*", "sig/**/*.rbs",
        "completions/*", "man/*.1", "README.md", "CHANGELOG.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") } -
      Dir["lib/skep/{,plugin/}reshare{.rb,/**/*.rb}"] # of skep-reshare.gemspec
  end
  # The project has no public address, so there is no source_code_uri or changelog_uri. RubyGems
  # warns of a missing homepage; names below .invalid are reserved and never exist (RFC 2606).
  spec.homepage = "https://skep.invalid"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
