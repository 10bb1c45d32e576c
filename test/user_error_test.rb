# frozen_string_literal: true

require "test_helper"
require "skep/error"
require "timeout"

# Which exceptions count as a failure of the user's code, and which end the process.
class UserErrorTest < Skep::TestCase
  # (The constant is private.)
  USER_ERROR = Skep.module_eval("UserError", __FILE__, __LINE__)
  Odd = Class.new(Exception) # rubocop:disable Lint/InheritException -- as some libraries do
  private_constant :USER_ERROR, :Odd

  test "matches errors of any class that a library may raise" do
    [RuntimeError, ScriptError, SystemStackError, SecurityError, Timeout::Error, Odd,
     UncaughtThrowError].each do |error|
      assert_operator USER_ERROR, :===, error.allocate, error
    end
  end

  test "doesn't match what ends the process" do
    [SystemExit.new, Interrupt.new, SignalException.new("TERM"), NoMemoryError.new].each do |error|
      refute_operator USER_ERROR, :===, error, error.class
    end
  end

  test "doesn't match a deadlock that Ruby finds" do
    pid, reader = in_child do |writer|
      Thread::Queue.new.pop # this process has no other thread
    rescue USER_ERROR
      writer.write("matched")
    rescue Exception => e # rubocop:disable Lint/RescueException -- Ruby's own
      writer.write(e.class.name)
    end
    found = reader.read
    Process.wait(pid)

    assert_equal "fatal", found
  end
end
