# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/server/process_tree"

class BenchmarkProcessTreeTest < Skep::TestCase
  ProcessTree = Skep::Benchmarks::ProcessTree
  private_constant :ProcessTree

  test "returns children, and all descendants" do
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    gate, release = IO.pipe
    child, reader = in_child do |writer|
      release.close
      grandchild = fork { gate.read && exit!(0) }
      writer.puts grandchild
      gate.read
      Process.wait(grandchild)
    end
    grandchild = Integer(wait_readable(reader).gets)
    assert_equal [child], ProcessTree.children("self")
    assert_equal [child, grandchild], ProcessTree.below(Process.pid)
    [release, gate].each(&:close)
    Process.wait(child)
    assert_empty ProcessTree.below(child)
  end

  test "returns the wake-ups of a process, and its CPU time" do
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    wakes, cpu = ProcessTree.wakes(Process.pid), ProcessTree.cpu(Process.pid)
    IO.pipe { |reader, _| 3.times { reader.wait_readable(0.001) } }
    Thread.new { 100_000.times { nil } }.join
    assert_operator ProcessTree.wakes(Process.pid), :>=, wakes + 3
    assert_operator ProcessTree.cpu(Process.pid), :>, cpu
    mine = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_in_delta mine, ProcessTree.cpu(Process.pid), 1
  end

  test "returns nothing for a process that has ended" do
    child = fork { exit!(0) }
    Process.wait(child)
    assert_empty ProcessTree.below(child)
    assert_equal [0, 0.0], [ProcessTree.wakes(child), ProcessTree.cpu(child)]
  end
end
