# frozen_string_literal: true

# The gem pid_cache's own tests, with `skep/pid_cache` in its place. The gem doesn't contain them,
# but its repository (MIT) does. It is cloned once to tmp/pid_cache, or PID_CACHE names a copy:
#
#   rake test:pid_cache
#   PID_CACHE=~/src/pid_cache rake test:pid_cache

PID_CACHE_URL = "https://github.com/Shopify/pid_cache"
PID_CACHE_TAG = "v0.1.0"
PID_CACHE = ENV.fetch("PID_CACHE", "tmp/pid_cache")

# Run as `ruby -e` with the folder. The suite's `require` considers its gem loaded.
PID_CACHE_SUITE = <<~'RUBY'
  require "skep/pid_cache"
  folder = File.realpath(ARGV.shift)
  $LOADED_FEATURES << "#{folder}/lib/pid_cache.rb"
  $LOAD_PATH.unshift("#{folder}/test")
  tests = Dir["#{folder}/test/**/test_*.rb"].sort - ["#{folder}/test/test_helper.rb"]
  abort "no tests in #{folder}" if tests.empty?
  tests.each { |test| require test }
  abort "pid_cache itself was tested" if defined?(PIDCache)
  puts "skep/pid_cache: #{Skep::PidCache.status}"
RUBY

directory PID_CACHE do
  clone = ["git", "clone", "--quiet", "--depth", "1", "--branch", PID_CACHE_TAG]
  sh(*clone, PID_CACHE_URL, PID_CACHE) do |cloned, _|
    cloned or abort "test:pid_cache: give a copy of #{PID_CACHE_URL} by PID_CACHE=FOLDER"
  end
end

namespace :test do
  desc "Run the gem pid_cache's own tests with skep/pid_cache in its place"
  task pid_cache: [:compile, PID_CACHE] do
    ruby "-w", "-r./load_path", "-e", PID_CACHE_SUITE, PID_CACHE, verbose: false
  end
end
