# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class CausesTest < Skep::TestCase
  Node = Struct.new(:pid, :reason)
  Exit = Skep::Swarm::Exit

  test "counts a seat's processes by what had ended the one before" do
    causes = Skep::Swarm::Causes.new
    causes.begun
    [[Node.new(1), Exit.new(nil, "SEGV")], [Node.new(1), Exit.new(1, nil)],
     [Node.new(1), Exit.new(0, nil)], [Node.new(1, "hung"), Exit.new(nil, "KILL")],
     [Node.new(1, "restart"), Exit.new(0, nil)], [Node.new(1), nil], [Node.new, Exit.new],
     [Node.new(1), Exit.new], [Node.new(1), Exit.new(nil, "KILL")]].each do |node, exit|
      causes.ended(node, exit)
      causes.begun
    end
    assert_equal({ "signal" => 2, "failure" => 1, "clean" => 1, "hung" => 1, "restart" => 1,
                   "refork" => 1, "fork_failed" => 1, "unknown" => 1 }, causes.counts)
  end

  test "doesn't count the first process, nor an end that nobody follows" do
    causes = Skep::Swarm::Causes.new
    causes.begun
    causes.ended(Node.new(1), Exit.new(0, nil))
    assert_empty causes.counts
  end

  test "is taken over by the supervisor's next program, an end that is yet to be followed too" do
    causes = Skep::Swarm::Causes.new
    causes.ended(Node.new(1), Exit.new(nil, "KILL"))
    causes.begun
    causes.ended(Node.new(1, "memory_limit"), Exit.new(0, nil))
    again = Skep::Swarm::Causes.new.recall(JSON.parse(JSON.generate(causes.keep)))
    again.begun
    assert_equal({ "signal" => 1, "memory_limit" => 1 }, again.counts)
  end
end
