# frozen_string_literal: true

# Karafka, by its own executable, as `bundle exec karafka server` runs it.
ENV["KARAFKA_ROOT_DIR"] = ENV.fetch("SKEP_BENCH_FOLDER")
ENV["KARAFKA_ENV"] = "production"
ENV["KARAFKA_BOOT_FILE"] = File.expand_path("karafka_app.rb", __dir__)
ARGV.replace(["server"])
load Gem.bin_path("karafka", "karafka")
