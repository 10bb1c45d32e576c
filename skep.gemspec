# frozen_string_literal: true

require_relative "lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "Keeps a swarm of forked processes alive and productive"
  spec.description = "Makes fork safe, cheap and memory-friendly, supervises the children " \
                     "without polling, and feeds them work, above all from Kafka. " \
                     "Plain Ruby where there is no compiler."

  spec.required_ruby_version = ">= 3.1"
  spec.extensions = ["ext/skep/extconf.rb"]
  spec.bindir = "exe"
  spec.executables = ["skep"]
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "ext/skep/**/*.{c,h,rb}", "ext/skep/depend", "exe/*", "docs/**/*.md",
        "man/*.1", "*.md", "LICENSE"].select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.metadata["rubygems_mfa_required"] = "true"
end
