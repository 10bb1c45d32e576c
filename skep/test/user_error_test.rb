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
    output, = run_program(<<~RUBY, gems: false)
      require "skep/user_error"
      begin
        Thread::Queue.new.pop # this process has no other thread
      rescue Skep.const_get(:UserError)
        puts "matched"
      rescue Exception => e
        puts e.class.name
      end
    RUBY
    assert_equal "fatal\n", output
  end
end
