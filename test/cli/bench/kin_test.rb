# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/bench"
require "skep/cli/bench/parts"
require "skep/cli/bench/kin"

class KinTest < Skep::TestCase
  Kin = Skep::CLI::Bench::Kin
  private_constant :Kin

  test "knows children, and theirs" do
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    there, here = IO.pipe
    child, reader = in_child do |writer|
      here.close
      grandchild = fork { there.read && exit!(0) }
      writer.puts grandchild
      there.read
      Process.wait(grandchild)
    end
    grandchild = Integer(wait_readable(reader).gets)
    assert_equal [[child], [child, grandchild]], [Kin.children("self"), Kin.below(Process.pid)]
    [here, there].each(&:close)
    Process.wait(child)
    assert_empty Kin.below(child)
  end

  test "counts how often a process woke up, and for how long it ran" do
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    wakes, cpu = Kin.wakes(Process.pid), Kin.cpu(Process.pid)
    IO.pipe { |reader, _| 3.times { reader.wait_readable(0.001) } }
    Thread.new { 100_000.times { nil } }.join
    assert_operator Kin.wakes(Process.pid), :>=, wakes + 3
    assert_operator Kin.cpu(Process.pid), :>, cpu
    mine = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_in_delta mine, Kin.cpu(Process.pid), 1
  end

  test "knows that nobody did nothing" do
    child = fork { exit!(0) }
    Process.wait(child)
    assert_equal [[], 0, 0.0], [Kin.below(child), Kin.wakes(child), Kin.cpu(child)]
  end
end
