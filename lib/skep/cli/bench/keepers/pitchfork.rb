# frozen_string_literal: true

# Pitchfork, by its own executable. Its documentation: docs/CONFIGURATION.md of the gem.
require_relative "rack"

Errand.preload
File.write("pitchfork.conf.rb", <<~RUBY)
  listen "#{Errand::FOLDER}/socket"
  worker_processes #{Errand.count}
  after_worker_fork { |_server, _worker| Errand.begin }
  #{Errand.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
File.write("config.ru", "run BUSY\n")
ARGV.replace(["-c", "pitchfork.conf.rb", "config.ru"])
load Gem.bin_path("pitchfork", "pitchfork")
