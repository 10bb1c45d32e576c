# frozen_string_literal: true

# Pitchfork, by its own executable, with the warmup of its documentation (docs/CONFIGURATION.md,
# after_mold_fork). Its monitor doesn't load the application.
require_relative "../server/programs/worker_app"

File.write("pitchfork.conf.rb", <<~RUBY)
  listen "#{WorkerApp::FOLDER}/socket"
  worker_processes #{WorkerApp.count}
  before_fork { |_server| RailsApp.part }
  after_mold_fork do |_server, _mold|
    Process.respond_to?(:warmup) ? Process.warmup : (3.times { GC.start } && GC.compact)
  end
  after_worker_fork { |_server, _worker| WorkerApp.begin }
  #{WorkerApp.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
application = File.expand_path("application", __dir__)
File.write("config.ru", "require #{application.dump}\nrun RailsApp.boot\n")
ARGV.replace(["-c", "pitchfork.conf.rb", "config.ru"])
load Gem.bin_path("pitchfork", "pitchfork")
