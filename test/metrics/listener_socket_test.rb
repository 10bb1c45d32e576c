# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/metrics"

class ListenerSocketTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config, :events, :node_pool, keyword_init: true) do
    def stopping? = false
  end
  Config = Struct.new(:metrics)
  # Records the sockets that it serves.
  class NodePool
    attr_reader :served

    def initialize = @served = []
    def serve(socket, lent: false) = @served << [socket, lent]
  end

  # Lends descriptors as an upgrade does.
  class StateFile
    def lend(io) = io.fileno
    def take(number, kind) = kind.for_fd(number).tap { |io| io.autoclose = false }
  end
  private_constant :Supervisor, :Config, :NodePool, :StateFile

  def setup
    @directory = Dir.mktmpdir
    @published = []
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @published << [event.name, event.facts] }
    @loop = Skep::OS::EventLoop.new
    @supervisor = Supervisor.new(loop: @loop, events:, node_pool: NodePool.new)
    @listener = Skep::Metrics::ListenerSocket.new
  end

  def teardown
    @listener.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "binds the address in the loop's next turn and gives the socket to the helper" do
    configure("unix:#{@directory}/metrics")
    assert_empty served
    @loop.turn(0)

    assert_equal [[:metrics_listening, { address: "unix:#{@directory}/metrics" }]], @published
    UNIXSocket.new("#{@directory}/metrics").close
    assert_equal 1, served.size
  end

  test "does nothing for a swarm without metrics" do
    configure(nil)

    assert_match(/timers=0/, @loop.inspect)
  end

  test "reports once that the address is in use, and binds it when it is free" do
    other = TCPServer.new("127.0.0.1", 0)
    configure("127.0.0.1:#{other.local_address.ip_port}")
    @loop.turn(0)
    name, facts = @published.first
    assert_equal [:metrics_unavailable, "metrics can't be served at #{facts[:address]}: another " \
                                        "process uses it"], [name, facts[:error]]
    @loop.turn(5)
    assert_equal 1, @published.size
    other.close
    @loop.turn(5) until @published.size > 1

    assert_equal [:metrics_listening, 1], [@published.last.first, served.size]
  end

  test "keeps its socket over an upgrade" do
    configure("unix:#{@directory}/metrics")
    @loop.turn(0)
    state_file = StateFile.new
    kept = @listener.dump(state_file)
    resumed = Skep::Metrics::ListenerSocket.new
    resumed.on_resume(@supervisor, kept, state_file)

    assert_equal [kept, true], [served.last.first.fileno, served.last.last]
    assert_instance_of UNIXServer, served.last.first
  end

  test "removes the socket's file at the end" do
    configure("unix:#{@directory}/metrics")
    @loop.turn(0)
    @listener.on_close

    refute_path_exists "#{@directory}/metrics"
  end

  private

  def configure(address)
    @supervisor.config = Config.new(address)
    @listener.configured(@supervisor)
  end

  def served = @supervisor.node_pool.served
end
