# frozen_string_literal: true

task lint: "lint:signatures"

# Checks the gems and the examples against their sig/, the signatures of the public API.
task "lint:signatures" => :compile do
  sh "steep", "check", "--severity-level=error", verbose: false
  require_relative "../load_path"
  %w[skep skep/kafka skep/kafka/testing skep/pid_cache skep/web].each { |feature| require feature }
  require_relative "signatures"
  # Skep::Rails needs a Rails application; its scenarios call it.
  missing = Signatures.new(*Dir["skep*/sig"]).missing.grep_v(/\ASkep::Rails\b/)
  abort "signatures: sig/ declares what lib lacks: #{missing.join(", ")}" if missing.any?
end
