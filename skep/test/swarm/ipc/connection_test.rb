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
    @received, @errors, @failed = [], [], []
    callbacks = { ended: -> { @ended = true }, protocol_error: ->(error) { @errors << error },
             guard: method(:guard) }
    messages = Swarm::IPC::Messages::FROM_NODE
    @connection = Swarm::IPC::Connection.new(@loop, ours, messages, **callbacks) do |frame|
      raise TypeError, "skep's own bug" if frame.type == "warm"

      @received << frame.type
    end
  end

  def teardown
    @connection.close
    @theirs.close
    @loop.close
    super
  end

  test "reports an error of skep's own handler as failed, and continues to read" do
    @connection.listen
    %w[ready warm healthy].each { |type| @theirs.post(type) }
    @loop.turn(5)
    assert_equal [%w[ready healthy], []], [@received, @errors]
    assert_equal [["warm", "skep's own bug"]], @failed.map { |type, error| [type, error.message] }
    assert_predicate @connection, :open?
  end

  test "closes the connection at an invalid message, before it is handled" do
    @connection.listen
    @theirs.post("ready")
    @theirs.post("work", { "facts" => 3 })
    @theirs.post("healthy")
    @loop.turn(5)
    assert_equal [["ready"], []], [@received, @failed]
    assert_equal ["facts must be a Hash with valid sums, not 3"], @errors.map(&:message)
    refute_predicate @connection, :open?
    refute @ended
  end

  test "drain handles all that was received, a turn only a part of it" do
    @connection.listen
    frame = '["ready",{}]'.then { |text| [text.bytesize, 1, 0].pack("NCC") << text }
    @socket.write(frame * 8_000)
    @loop.turn(5)
    assert_includes 1...8_000, @received.size
    assert @connection.drain
    assert_equal 8_000, @received.size
  end

  private

  def guard(type)
    yield
  rescue StandardError => e
    @failed << [type, e]
  end
end
