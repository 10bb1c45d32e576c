# frozen_string_literal: true

require_relative "../skep/lib/skep/version"

Gem::Specification.new do |spec|
  spec.name = "skep-web"
  spec.version = Skep::VERSION
  spec.authors = ["the skep authors"]
  spec.license = "MIT"
  spec.summary = "A live page that shows and controls swarms of skep"
  spec.description = "A Rack application, and the command `skep web`: nodes, memory, lag, " \
                     "hangs with their backtraces, dead letters; restarts and scales after a login."

  spec.required_ruby_version = ">= 3.1"
  spec.add_dependency "puma", ">= 6.0", "< 9"
  spec.add_dependency "rack", ">= 3.0", "< 4"
  spec.add_dependency "rack-session", ">= 2.0", "< 3"
  spec.add_dependency "skep", Skep::VERSION
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*", "sig/*.rbs", "README.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.homepage = "https://skep.invalid" # see skep/skep.gemspec
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
