# frozen_string_literal: true

desc "Note which tests were slow when they last ran here, for new machines"
task :slow_tests do
  require "minitest"
  require_relative "../test/support/suite/durations"

  known = "tmp/test_seconds.json"
  abort "there is no #{known}: run bin/test first" unless File.exist?(known)

  seconds = JSON.parse(File.read(known))
  slow = seconds.select { |_, taken| taken > TestSuite::Durations::SLOW }
  File.write(TestSuite::Durations::SLOW_TESTS, "#{JSON.pretty_generate(slow)}\n")
end
