# frozen_string_literal: true

require "test_helper"
require_relative "../../benchmark/command"
require_relative "../../benchmark/server/process_tree"

class BenchmarkProcessTreeTest < Skep::TestCase
  ProcessTree = Skep::Benchmarks::ProcessTree
  private_constant :ProcessTree

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
    assert_equal [child], ProcessTree.children("self")
    assert_equal [child, grandchild], ProcessTree.below(Process.pid)
    [here, there].each(&:close)
    Process.wait(child)
    assert_empty ProcessTree.below(child)
  end

  test "counts how often a process woke up, and for how long it ran" do
    skip "there is no /proc" unless File.exist?("/proc/self/task")
    wakes, cpu = ProcessTree.wakes(Process.pid), ProcessTree.cpu(Process.pid)
    IO.pipe { |reader, _| 3.times { reader.wait_readable(0.001) } }
    Thread.new { 100_000.times { nil } }.join
    assert_operator ProcessTree.wakes(Process.pid), :>=, wakes + 3
    assert_operator ProcessTree.cpu(Process.pid), :>, cpu
    mine = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_in_delta mine, ProcessTree.cpu(Process.pid), 1
  end

  test "knows that nobody did nothing" do
    child = fork { exit!(0) }
    Process.wait(child)
    assert_empty ProcessTree.below(child)
    assert_equal [0, 0.0], [ProcessTree.wakes(child), ProcessTree.cpu(child)]
  end
end
