# frozen_string_literal: true

# Puma in cluster mode, by its own executable, a thread a worker. With fork_worker its worker 0 is
# whom the others are forked from. Its documentation: Puma::DSL.
require "puma/const"
require_relative "../errand"

before = Puma::Const::VERSION.to_i < 7 ? "on" : "before"
boot = Puma::Const::VERSION.to_i < 7 ? "on_worker_boot" : "before_worker_boot"
File.write("puma.conf.rb", <<~RUBY)
  bind "unix://#{Errand::FOLDER}/socket"
  workers #{Errand.count}
  threads 1, 1
  #{"preload_app!" unless Errand.options.key?(:fork_worker)}
  #{boot} { Errand.begin }
  #{before}_refork do
    Shop.part
    3.times { GC.start }
  end
  #{Errand.options.map { |name, value| "#{name} #{value}" }.join("\n")}
RUBY
File.write("config.ru", "require #{File.expand_path("application", __dir__).dump}\nrun Shop.boot\n")
ARGV.replace(["-C", "puma.conf.rb", "config.ru"])
load Gem.bin_path("puma", "puma")
