# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ConnectionTest < Skep::TestCase
  Swarm = Skep::Swarm

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    ours, @socket = Swarm::IPC::Channel.pair
    @theirs = Swarm::IPC::Channel.new(@socket)
    @heard, @errors, @failed = [], [], []
    told = { ended: -> { @ended = true }, protocol_error: ->(error) { @errors << error },
             failed: ->(error, frame) { @failed << [frame.type, error] } }
    messages = Swarm::IPC::Messages::FROM_NODE
    @link = Swarm::IPC::Connection.new(@loop, ours, messages, **told) do |frame|
      raise TypeError, "skep's own bug" if frame.type == "warm"

      @heard << frame.type
    end
  end

  def teardown
    @link.close
    @theirs.close
    @loop.close
    super
  end

  test "skep's own error is not the other end's, which is read on" do
    @link.listen
    %w[ready warm healthy].each { |type| @theirs.post(type) }
    @loop.turn(5)
    assert_equal [%w[ready healthy], []], [@heard, @errors]
    assert_equal [["warm", "skep's own bug"]], @failed.map { |type, error| [type, error.message] }
    assert_predicate @link, :open?
  end

  test "what isn't in the table ends the link before it is handled" do
    @link.listen
    @theirs.post("ready")
    @theirs.post("work", { "facts" => 3 })
    @theirs.post("healthy")
    @loop.turn(5)
    assert_equal [["ready"], []], [@heard, @failed]
    assert_equal ["facts must be a Hash, not 3"], @errors.map(&:message)
    refute_predicate @link, :open?
    refute @ended
  end

  test "a drain handles all that has come, a turn a part of it" do
    @link.listen
    frame = '["ready",{}]'.then { |text| [text.bytesize, 1, 0].pack("NCC") << text }
    @socket.write(frame * 8_000)
    @loop.turn(5)
    assert_includes 1...8_000, @heard.size
    assert @link.drain
    assert_equal 8_000, @heard.size
  end
end
