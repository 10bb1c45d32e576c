# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class HelperMainTest < Skep::TestCase
  # The helper's node; a test stops it after the last frame.
  class FakeNode
    attr_reader :published

    def initialize = @published = []
    def on_stop(&block) = @stop = block
    def ready! = nil
    def beat = nil
    def beat_every = 5.0
    def event(name, **facts) = @published << [name, facts[:error]]
    def stop = @stop.call
  end

  # Records the sockets it serves, and its close.
  class Service
    attr_reader :served

    def initialize(error = nil)
      @served = []
      @error = error
    end

    def start(socket, _line)
      raise @error if @error

      @served << socket
      self
    end

    def close = @served << :closed
  end

  test "runs blocks and serves the socket until it stops" do
    handled = []
    service = Service.new
    run_with({ "node_died" => [->(facts) { handled << facts["node"] }] }, service,
             frame("serve", {}, [:socket]),
             frame("event", { "name" => "node_died", "facts" => { "node" => 1 } }))
    assert_equal [1], handled
    assert_equal %i[socket closed], service.served
  end

  test "publishes metrics_failed if the service can't start, and still runs blocks" do
    handled = []
    blocks = { "node_died" => [->(_) { handled << 1 }] }
    published = run_with(blocks, Service.new(LoadError.new("no nio4r")),
                         frame("serve", {}, [:socket]),
                         frame("event", { "name" => "node_died", "facts" => {} }))
    assert_equal [[:metrics_failed, "LoadError: no nio4r"]], published
    assert_equal [1], handled

    published = run_with({}, Service.new, frame("serve", {}, []))
    assert_match(/\AErrno::EMFILE/, published.dig(0, 1))
  end

  private

  def frame(type, facts, ios = []) = Skep::Swarm::IPC::Channel::Message.new(type, facts, ios)

  def run_with(blocks, service, *frames)
    node = FakeNode.new
    helper = Skep::Swarm::Processes::HelperMain.new(blocks, node, query: nil, service:)
    frames.each { |one| helper.receive(one) }
    node.stop
    helper.run
    node.published
  end
end
