# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# What a node knows of other nodes' crashes.
class KnownSuspectsTest < Skep::TestCase
  Swarm = Skep::Swarm
  Message = Swarm::IPC::Channel::Message
  private_constant :Swarm, :Message

  def setup
    super
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @reported = []
    @node = Swarm::Node.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:,
                              suspects: [plain("a")],
                              report: ->(type, facts) { @reported << [type, facts] })
    @crash_suspects = @node.crash_suspects
    @clears = @reported.shift
  end

  def teardown
    @node.leave
    @page.close
    super
  end

  test "has the suspects of the fork, and those that the supervisor adds or drops later" do
    assert_equal ["a"], @crash_suspects.map(&:to_s)
    @crash_suspects.__receive(Message.new("suspects", { "added" => [plain("b", 3), plain("a")] }))
    assert_equal ["a", "b at 3"], @crash_suspects.map(&:to_s)
    @crash_suspects.__receive(Message.new("suspects", { "dropped" => [["a", nil], ["b", 3]] }))
    refute_predicate @crash_suspects, :any?
  end

  test "a work that asks for them says once that it clears them, and outliving them clears none" do
    @node.crash_suspects
    assert_equal [["clears_suspects", {}], []], [@clears, @reported]
    @node.in_flight("a")
    @node.in_flight(nil)
    assert_equal ["a"], @crash_suspects.map(&:to_s)
  end

  test "those of a work that never asks are cleared once a thread of the node has outlived them" do
    long = "GET /#{"a" * 500}"
    [@node, @node.thread(1)].each do |thread|
      node = outliving(plain("a"), plain("b", 3), plain(long[0, 438]))
      thread = thread.equal?(@node) ? node : node.thread(1)
      thread.in_flight("a")
      assert_empty @reported
      thread.in_flight(long)
      thread.in_flight("other")
      assert_equal ["a", long[0, 438]], @reported.map { |_, facts| facts["suspects"].dig(0, 0) }
      assert_equal ["b at 3"], node.__crash_suspects.map(&:to_s)
      @reported.clear
    ensure
      node&.leave
    end
  end

  test "what is in flight may have any encoding" do
    node = outliving(plain("a"))
    node.in_flight("a".encode(Encoding::UTF_32LE))
    node.in_flight("\xFF".dup.force_encoding(Encoding::UTF_32LE))
    assert_equal([[["a", nil]]], @reported.map { |_, facts| facts["suspects"] })
  ensure
    node&.leave
  end

  test "forgets suspects that it clears at once, and reports them as resolved" do
    @crash_suspects.clear(@crash_suspects)
    assert_empty @crash_suspects
    assert_equal [["suspects_resolved", { "suspects" => [["a", nil]], "blamed" => false }]],
                 @reported
  end

  test "reports suspects that it blames, and keeps them until they are cleared" do
    @crash_suspects.blame(@crash_suspects)
    assert_predicate @crash_suspects, :any?
    assert_equal [["suspects_resolved", { "suspects" => [["a", nil]], "blamed" => true }]],
                 @reported
    @crash_suspects.blame([])
    assert_equal 1, @reported.size
  end

  private

  def outliving(*suspects)
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 1)
    Swarm::Node.new(id: nil, page_index: 0, swarm: "a", mold: 0, page: @page, layout:, suspects:,
                    report: ->(type, facts) { @reported << [type, facts] })
  end

  def plain(in_flight, at = nil)
    { "in_flight" => in_flight, "current_item" => at, "crashes" => 1, "alone" => 1,
      "ends" => [], "slots" => [], "time" => 1.0 }
  end
end
