# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class HelperMainTest < Skep::TestCase
  # As a node's node: its stop comes once it has nothing more to hear.
  class FakeNode
    attr_reader :told

    def initialize = @told = []
    def on_stop(&block) = @stop = block
    def ready! = nil
    def beat = nil
    def beat_every = 5.0
    def event(name, **facts) = @told << [name, facts[:error]]
    def stop = @stop.call
  end

  # What is served, and for how long.
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

  test "runs blocks and serves, until its stop" do
    heard = []
    service = Service.new
    run_with({ "node_died" => [->(facts) { heard << facts["node"] }] }, service,
             frame("serve", {}, [:socket]),
             frame("event", { "name" => "node_died", "facts" => { "node" => 1 } }))
    assert_equal [1], heard
    assert_equal %i[socket closed], service.served
  end

  test "tells why nothing is served, and still runs blocks" do
    heard = []
    blocks = { "node_died" => [->(_) { heard << 1 }] }
    told = run_with(blocks, Service.new(LoadError.new("no nio4r")), frame("serve", {}, [:socket]),
                    frame("event", { "name" => "node_died", "facts" => {} }))
    assert_equal [[:metrics_failed, "LoadError: no nio4r"]], told
    assert_equal [1], heard

    told = run_with({}, Service.new, frame("serve", {}, []))
    assert_match(/\AErrno::EMFILE/, told.dig(0, 1))
  end

  private

  def frame(type, facts, ios = []) = Skep::Swarm::IPC::Channel::Message.new(type, facts, ios)

  def run_with(blocks, service, *frames)
    node = FakeNode.new
    listener = Skep::Swarm::Processes::HelperMain.new(blocks, node, query: nil, service:)
    frames.each { |one| listener.receive(one) }
    node.stop
    listener.run
    node.told
  end
end
