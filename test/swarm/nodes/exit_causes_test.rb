# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ExitCausesTest < Skep::TestCase
  Node = Struct.new(:pid, :reason)
  ExitStatus = Skep::Swarm::IPC::ExitStatus

  test "counts a slot's processes by the exit cause of the previous one" do
    causes = Skep::Swarm::Nodes::ExitCauses.new
    causes.begun
    [[Node.new(1), ExitStatus.new(nil, "SEGV")], [Node.new(1), ExitStatus.new(1, nil)],
     [Node.new(1), ExitStatus.new(0, nil)], [Node.new(1, "hung"), ExitStatus.new(nil, "KILL")],
     [Node.new(1, "restart"), ExitStatus.new(0, nil)], [Node.new(1), nil],
     [Node.new, ExitStatus.new], [Node.new(1), ExitStatus.new],
     [Node.new(1), ExitStatus.new(nil, "KILL")]].each do |node, exit|
      causes.ended(node, exit)
      causes.begun
    end
    assert_equal({ "signal" => 2, "failure" => 1, "clean" => 1, "hung" => 1, "restart" => 1,
                   "refork" => 1, "fork_failed" => 1, "unknown" => 1 }, causes.counts)
  end

  test "doesn't count the first process, nor an exit without a next process" do
    causes = Skep::Swarm::Nodes::ExitCauses.new
    causes.begun
    causes.ended(Node.new(1), ExitStatus.new(0, nil))
    assert_empty causes.counts
  end
end
