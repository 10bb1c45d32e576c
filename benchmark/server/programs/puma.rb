# frozen_string_literal: true

# Puma in cluster mode, by its own executable; the application is loaded before it forks.
# Its documentation: Puma::DSL.
require "puma/const"
require_relative "rack"

WorkerApp.preload
File.write("puma.conf.rb", <<~RUBY)
  bind "unix://#{WorkerApp::FOLDER}/socket"
  workers #{WorkerApp.count}
  threads 1, 1
  preload_app!
  #{Puma::Const::VERSION.to_i < 7 ? "on_worker_boot" : "before_worker_boot"} { WorkerApp.begin }
  #{WorkerApp.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
File.write("config.ru", "run BUSY\n")
ARGV.replace(["-C", "puma.conf.rb", "config.ru"])
load Gem.bin_path("puma", "puma")
