# frozen_string_literal: true

# Every test file requires this first. It loads no component: a test requires its own.
#
#   require "test_helper"
#   require "skep/os"
#
#   class PidfdTest < Skep::TestCase
#     test "is alive while the process runs" do
#       …
#     end
#   end

require_relative "load_path" # for `ruby -Itest skep/test/os/pidfd_test.rb`

require "minitest/autorun"
require "minitest/mock"
require "support/default_signals"
require "support/strict_warnings"
require "support/hang_watch"
require "support/leaks"
require "support/means"
require "support/processes"
require "support/test_case"

# Tests fork, so Minitest must not start threads of its own.
Minitest.parallel_executor = Minitest::Parallel::Executor.new(0)
