# frozen_string_literal: true

# Puma in cluster mode, by its own executable, with one thread a worker. With fork_worker it forks
# the other workers from worker 0. Its documentation: Puma::DSL.
require "puma/const"
require_relative "../server/programs/worker_app"

before = Puma::Const::VERSION.to_i < 7 ? "on" : "before"
boot = Puma::Const::VERSION.to_i < 7 ? "on_worker_boot" : "before_worker_boot"
File.write("puma.conf.rb", <<~RUBY)
  bind "unix://#{WorkerApp::FOLDER}/socket"
  workers #{WorkerApp.count}
  threads 1, 1
  #{"preload_app!" unless WorkerApp.options.key?(:fork_worker)}
  #{boot} { WorkerApp.begin }
  #{before}_refork do
    RailsApp.part
    3.times { GC.start }
  end
  #{WorkerApp.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
application = File.expand_path("application", __dir__)
File.write("config.ru", "require #{application.dump}\nrun RailsApp.boot\n")
ARGV.replace(["-C", "puma.conf.rb", "config.ru"])
load Gem.bin_path("puma", "puma")
