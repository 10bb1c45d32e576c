# frozen_string_literal: true

# Pitchfork, by its own executable. Its documentation: docs/CONFIGURATION.md of the gem.
require_relative "rack"

WorkerApp.preload
File.write("pitchfork.conf.rb", <<~RUBY)
  listen "#{WorkerApp::FOLDER}/socket"
  worker_processes #{WorkerApp.count}
  after_worker_fork { |_server, _worker| WorkerApp.begin }
  #{WorkerApp.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
File.write("config.ru", "run BUSY\n")
ARGV.replace(["-c", "pitchfork.conf.rb", "config.ru"])
load Gem.bin_path("pitchfork", "pitchfork")
