# frozen_string_literal: true

task lint: "lint:signatures"

# Checks the gems and the examples against their sig/, the signatures of the public API.
task "lint:signatures" => :compile do
  # Steep goes on after an error of its own, and doesn't check the rest of that file.
  output, status = Open3.capture2e("steep", "check", "--severity-level=error")
  puts output
  abort "signatures: see above" if !status.success? || output.include?(" ERROR: ")
  require_relative "../load_path"
  %w[skep skep/guest skep/kafka skep/kafka/testing skep/pid_cache skep/web].each do |feature|
    require feature
  end
  require_relative "signatures"
  # These need a Rails application, or the server's gem; their scenarios call them.
  missing = Signatures.new(*Dir["skep*/sig"]).missing
                      .grep_v(/\ASkep::(?:Rails|Puma|Sidekiq|SolidQueue|Karafka)\b/)
  abort "signatures: sig/ declares what lib lacks: #{missing.join(", ")}" if missing.any?
end
