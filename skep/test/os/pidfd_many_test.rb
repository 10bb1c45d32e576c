# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Many pidfds at a time, and that none is left open.
class PidfdManyTest < Skep::TestCase
  test "closes its fd when it is garbage-collected" do
    before = Dir.children("/proc/self/fd").size
    drop = ->(count) { count.positive? && (Skep.pidfd(Process.pid) && drop.(count - 1)) }
    drop.(200)
    GC.start
    assert_operator Dir.children("/proc/self/fd").size - before, :<, 50
  end

  test "returns the statuses of 100 children, one after the other" do
    before = Dir.children("/proc/self/fd").size
    statuses = Array.new(100) do |n|
      pidfd = Skep.pidfd(fork { exit!(n % 7) })
      pidfd.wait(timeout: 10).exitstatus
    ensure
      pidfd.close
    end
    assert_equal Array.new(100) { |n| n % 7 }, statuses
    assert_equal before, Dir.children("/proc/self/fd").size
  end

  test "returns the statuses of 100 children that run at once" do
    gate, release = IO.pipe
    pidfds = Array.new(100) do |n|
      Skep.pidfd(fork { release.close || (gate.read && exit!(n % 5)) })
    end
    assert_empty(pidfds.filter_map { |pidfd| pidfd.wait(timeout: 0) })
    [gate, release].each(&:close)
    statuses = pidfds.map { |pidfd| pidfd.wait(timeout: 10).exitstatus }
    assert_equal Array.new(100) { |n| n % 5 }, statuses
  ensure
    pidfds&.each(&:close)
  end

  # The fallback needs a thread for each wait, so most are only asked whether they are alive.
  test "10,000 pidfds can be open at once" do
    skip "the limit of open files is too low" if hard_limit < 10_100
    out, err, = run_program(<<~RUBY, timeout: 60)
      require "skep/os"
      Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
      gate, release = IO.pipe
      children = Array.new(10) { |n| fork { release.close; gate.read; exit!(n) } }
      pidfds = Array.new(1_000) { children.map { |pid| Skep.pidfd(pid) } }.flatten
      puts pidfds.count(&:alive?), pidfds.first(10).count { |pidfd| pidfd.wait(timeout: 0) }
      release.close
      puts pidfds.first(10).map { |pidfd| pidfd.wait(timeout: 10).exitstatus }.join(" ")
      puts pidfds.count(&:alive?)
      pidfds.each(&:close)
      puts Dir.children("/proc/self/fd").size < 20
    RUBY
    assert_equal ["10000\n0\n0 1 2 3 4 5 6 7 8 9\n0\ntrue\n", ""], [out, err]
  end

  private

  def hard_limit = Process.getrlimit(:NOFILE).last
end
