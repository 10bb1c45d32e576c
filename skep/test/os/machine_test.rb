# frozen_string_literal: true

require "test_helper"
require "skep/os"

class MachineTest < Skep::TestCase
  # A machine whose clock stands still and that has one process.
  class Still < Skep::OS::Machine
    def now = 7.0
    def pidfd(pid, _io = nil) = "pidfd of #{pid}"
    def read(path) = path == "/proc/3/statm" ? "9 2 1 0" : raise(Errno::ENOENT)
  end

  test "run_on replaces the machine until its block ends, also by an error" do
    own = Skep::OS.machine
    raised = assert_raises(RuntimeError) do
      Skep::OS.run_on(Still.new) do
        assert_equal 7.0, Skep::OS.now
        assert_equal "pidfd of 3", Skep.pidfd(3)
        assert_predicate Skep::OS::Memory::Statm.of(3).anonymous, :positive?
        assert_nil Skep::OS::Memory::Statm.of(4)
        raise "over"
      end
    end
    assert_equal "over", raised.message
    assert_same own, Skep::OS.machine
  end

  test "the default machine has the real clock and real pidfds" do
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_operator Skep::OS.now, :>=, before
    assert_equal Process.pid, Skep.pidfd(Process.pid).tap(&:close).pid
  end
end
