# frozen_string_literal: true

require "test_helper"
require "skep/fork"

# What stderr says of an error that has no caller.
class ForkReporterTest < Skep::TestCase
  REPORTER = Skep::Fork::Reporter
  private_constant :REPORTER

  test "has the class, the message in one line, and where it was raised" do
    error = RuntimeError.new("first\nsecond")
    error.set_backtrace(["app.rb:1"])
    assert_equal "RuntimeError: first second (app.rb:1)", reported(error)
  end

  test "reports an error whose own methods raise" do
    %i[message backtrace].each do |name|
      error = RuntimeError.new("text")
      error.define_singleton_method(name) { raise NotImplementedError }
      assert_equal "an error whose message or backtrace raised NotImplementedError", reported(error)
    end
  end

  private

  def reported(error)
    _, told = capture_io { REPORTER.call(error, "a thread") }
    told[/raised (.+)$/, 1]
  end
end
