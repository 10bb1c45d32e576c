# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Where a node's threads stand, which the supervisor asks for if one makes no progress.
class NodeLinesTest < Skep::TestCase
  HERE = __FILE__.delete_prefix("#{Dir.pwd}/")
  private_constant :HERE

  def setup
    super
    layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 2, threads: 2)
    @page = Skep::OS::SharedPage.create(layout.total)
    @node = Skep::Swarm::Node.new(id: 1, swarm: "a", mold: 0, page: @page, layout:,
                                  report: ->(*) {})
    @work = Thread::Queue.new
  end

  def teardown
    @work.close
    @thread&.join
    @node.leave
    @page.close
    super
  end

  test "they are those of the main thread, and of each that has something in flight" do
    line = handle("a job", 2)
    lines = @node.__lines.to_h
    assert_equal [0, 2], lines.keys.sort
    assert_equal "#{HERE}:#{line}", lines[2]
    assert_match(/\A#{Regexp.escape(HERE)}:\d+\z/, lines[0])
  end

  test "a thread with nothing in flight is left out" do
    handle(nil, 2)
    assert_equal [0], @node.__lines.map(&:first)
  end

  private

  # Returns the line at which the thread stands.
  def handle(item, number)
    stands = Thread::Queue.new
    @thread = Thread.new do
      @node.thread(number).in_flight(item)
      [stands.push(true), @work.pop]
    end
    stands.pop
    __LINE__ - 3
  end
end
