# frozen_string_literal: true

# Karafka's swarm with the Rails application, by its own executable. Its documentation: the guide to
# the swarm mode.
ENV["KARAFKA_ROOT_DIR"] = ENV.fetch("SKEP_BENCH_FOLDER")
ENV["KARAFKA_ENV"] = "production"
ENV["KARAFKA_BOOT_FILE"] = File.expand_path("karafka_app.rb", __dir__)
ARGV.replace(["swarm"])
load Gem.bin_path("karafka", "karafka")
