# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Many pidfds, and none left.
class PidfdManyTest < Skep::TestCase
  test "lets its fd go when it is forgotten" do
    before = Dir.children("/proc/self/fd").size
    forget = ->(count) { count.positive? && (Skep.pidfd(Process.pid) && forget.(count - 1)) }
    forget.(200)
    GC.start
    assert_operator Dir.children("/proc/self/fd").size - before, :<, 50
  end

  test "serves a thousand children, one after the other" do
    before = Dir.children("/proc/self/fd").size
    statuses = Array.new(1_000) do |n|
      pidfd = Skep.pidfd(fork { exit!(n % 7) })
      pidfd.wait(timeout: 10).exitstatus
    ensure
      pidfd.close
    end
    assert_equal Array.new(1_000) { |n| n % 7 }, statuses
    assert_equal before, Dir.children("/proc/self/fd").size
  end

  test "serves two hundred children at once" do
    gate, release = IO.pipe
    pidfds = Array.new(200) do |n|
      Skep.pidfd(fork { release.close || (gate.read && exit!(n % 5)) })
    end
    assert_empty(pidfds.filter_map { |pidfd| pidfd.wait(timeout: 0) })
    [gate, release].each(&:close)
    statuses = pidfds.map { |pidfd| pidfd.wait(timeout: 10).exitstatus }
    assert_equal Array.new(200) { |n| n % 5 }, statuses
  ensure
    pidfds&.each(&:close)
  end
end
