# frozen_string_literal: true

require "fork/support/guard_case"

# A thread that has just begun runs, and has the name of the thread that made it.
class NativeThreadsTest < GuardCase
  Task = Guard.const_get(:NativeThreads)::Task

  test "a thread that was made just now is found once it has its name" do
    found = foreign([Task.new(7, "ruby", true)], [Task.new(7, "rdk:main", false)])
    assert_equal ["rdk:main"], found
  end

  test "one that stays unclear counts as Ruby's, and one that has ended isn't found" do
    assert_empty foreign([Task.new(7, "ruby", true)])
    assert_empty foreign([Task.new(7, "ruby", false)], [])
  end

  private

  # Returns the names that are found if Linux lists these tasks, look by look, the last for ever.
  def foreign(*looks)
    Task.stub(:look, -> { looks.size > 1 ? looks.shift : looks.first }) { Task.foreign.map(&:name) }
  end
end
