# frozen_string_literal: true

# What every test file requires first. It loads no room: a test requires those it is about.
#
#   require "test_helper"
#   require "skep/os"
#
#   class PidfdTest < Skep::TestCase
#     test "knows that a process lives" do
#       …
#     end
#   end

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__)) # for `ruby test/os/pidfd_test.rb`
$LOAD_PATH.unshift(__dir__)

require "minitest/autorun"
require "support/default_signals"
require "support/strict_warnings"
require "support/hang_watch"
require "support/leaks"
require "support/means"
require "support/processes"
require "support/test_case"

# A suite that forks wants no threads about that it didn't start.
Minitest.parallel_executor = Minitest::Parallel::Executor.new(0)
