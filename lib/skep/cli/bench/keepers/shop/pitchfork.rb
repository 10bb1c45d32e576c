# frozen_string_literal: true

# Pitchfork, by its own executable, warming up as its documentation has it (docs/CONFIGURATION.md,
# after_mold_fork). Its monitor doesn't load the application.
require_relative "../errand"

File.write("pitchfork.conf.rb", <<~RUBY)
  listen "#{Errand::FOLDER}/socket"
  worker_processes #{Errand.count}
  before_fork { |_server| Shop.part }
  after_mold_fork do |_server, _mold|
    Process.respond_to?(:warmup) ? Process.warmup : (3.times { GC.start } && GC.compact)
  end
  after_worker_fork { |_server, _worker| Errand.begin }
  #{Errand.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
File.write("config.ru", "require #{File.expand_path("application", __dir__).dump}\nrun Shop.boot\n")
ARGV.replace(["-c", "pitchfork.conf.rb", "config.ru"])
load Gem.bin_path("pitchfork", "pitchfork")
