# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What a child knows of others' crashes, and how it hears of them.
class KnownSuspectsTest < Skep::TestCase
  Swarm = Skep::Swarm
  Message = Swarm::IPC::Channel::Message
  private_constant :Swarm, :Message

  def setup
    super
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @said = []
    @child = Swarm::Child.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:,
                              suspects: [plain("a")],
                              report: ->(type, facts) { @said << [type, facts] })
    @caution = @child.caution
  end

  def teardown
    @child.leave
    @page.close
    super
  end

  test "knows what was known at the fork, and what is told later" do
    assert_equal ["a"], @caution.suspects.map(&:to_s)
    @caution.__hear(Message.new("suspects", { "added" => [plain("b", 3), plain("a")] }))
    assert_equal ["a", "b at 3"], @caution.suspects.map(&:to_s)
    @caution.__hear(Message.new("suspects", { "dropped" => [["a", nil], ["b", 3]] }))
    refute_predicate @caution, :any?
  end

  test "forgets whom it acquits at once, and tells the supervisor" do
    @caution.acquit(@caution.suspects)
    assert_empty @caution.suspects
    assert_equal [["judged", { "suspects" => [["a", nil]], "guilty" => false }]], @said
  end

  test "keeps whom it convicts until it is acquitted" do
    @caution.convict(@caution.suspects)
    assert_predicate @caution, :any?
    assert_equal [["judged", { "suspects" => [["a", nil]], "guilty" => true }]], @said
    @caution.convict([])
    assert_equal 1, @said.size
  end

  private

  def plain(in_hand, at = nil)
    { "in_hand" => in_hand, "at" => at, "crashes" => 1, "alone" => 1, "ends" => [], "slots" => [],
      "time" => 1.0 }
  end
end
