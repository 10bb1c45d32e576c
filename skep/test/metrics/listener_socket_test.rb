# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/metrics"

class ListenerSocketTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config, :events, :node_pool, keyword_init: true) do
    def stopping? = false
    def condition = { "name" => "billing", "state" => "running", "nodes" => [], "works" => [] }
  end
  Config = Struct.new(:metrics)
  # Records the sockets that it serves.
  class NodePool
    attr_reader :served

    def initialize = @served = []
    def serve(socket) = @served << socket
  end
  private_constant :Supervisor, :Config, :NodePool

  def setup
    @directory = Dir.mktmpdir
    @published = []
    @clients = []
    events = Skep::Swarm::Runtime::EventBus.new
    events.subscribe { |event| @published << [event.name, event.facts] }
    @loop = Skep::OS::EventLoop.new
    @supervisor = Supervisor.new(loop: @loop, events:, node_pool: NodePool.new)
    @listener = Skep::Metrics::ListenerSocket.new
  end

  def teardown
    @clients.each(&:close)
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

  test "answers health checks of GET and HEAD, and closes" do
    listen

    assert_equal "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\n" \
                 "content-length: 25\r\nconnection: close\r\n\r\nswarm billing is running\n",
                 answer("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert_match(/ 200 OK\r\n.*\r\n\r\nready\n\z/m, answer("GET /readyz HTTP/1.0\n\n"))
    assert_match(/ 503 .*not ready: 0 of 0 nodes are ready, 1 must be\n\z/m,
                 answer("GET /readyz?x=1&nodes=1 HTTP/1.1\r\n\r\n"))
    assert_match(/ 200 OK\r\n.*\r\n\r\n\z/m, answer("HEAD /healthz HTTP/1.1\r\n\r\n"))
  end

  test "reads a request in pieces" do
    listen

    assert_match(/ 200 OK/, answer("GET /healthz HTTP/1.1\r\n", "Host: x\r", "\n\r", "\n"))
  end

  test "passes any other client on with all that it has sent, and tells if there is no room" do
    listen
    requests = ["GET /metrics HTTP/1.1\r\n\r\n", "POST /healthz HTTP/1.1\r\n", "GET /heal",
                "\0\xFF", "GET /healthzz HTTP/1.1\r\n"]
    requests.each do |request|
      connect.write(request)
      2.times { @loop.turn(0) }

      assert_equal request.b, helper.accept_nonblock.readpartial(100).b
    end
    refused = nil
    turn_until(0.002) { (refused = answer("GET /metrics HTTP/1.1\r\n\r\n")).include?("HTTP") }
    assert_match(/ 503 .*the helper, .* doesn't accept requests/m, refused)
    turn_until { answer("GET /healthz HTTP/1.1\r\n\r\n").include?(" 200 OK") }
  end

  test "closes clients that send nothing at a deadline, and the first of too many" do
    listen
    silent = Array.new(65) { connect.tap { @loop.turn(0) } }
    turn_until { silent.first.read_nonblock(1, exception: false).nil? }
    assert_equal :wait_readable, silent[1].read_nonblock(1, exception: false)
    turn_until { answer("GET /healthz HTTP/1.1\r\n\r\n").include?(" 200 OK") }
    @loop.turn(10) until silent.all? { |client| client.read_nonblock(1, exception: false).nil? }

    assert_match(/timers=0/, @loop.inspect)
  end

  test "closes a client whose request is too large, or that ends it early" do
    listen

    assert_match(/\A(?:HTTP.* 431 .*)?\z/m, answer("GET /healthz HTTP/1.1\r\n", "x" * 50_000))
    client = connect
    client.write("GET /healthz HTTP/1.1\r\n")
    client.close_write
    3.times { @loop.turn(0) }
    assert_empty client.read
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

  def listen
    configure("unix:#{@directory}/metrics")
    2.times { @loop.turn(0) }
  end

  # After so many clients the acceptor may pause: they take a quarter of the processor at most.
  # wait: for how long at most between two looks; the acceptor may pause.
  def turn_until(wait = 0.1)
    deadline = Skep::OS.now + Patience.of(20)
    until yield
      flunk "not in time" if Skep::OS.now > deadline
      @loop.turn(wait)
    end
  end

  def connect = UNIXSocket.new("#{@directory}/metrics").tap { |client| @clients << client }
  def helper = @helper ||= Skep::Metrics::PassedConnections.new(served.last)

  # Returns all that is answered by the supervisor: "" if the client is passed on.
  def answer(*pieces)
    client = connect
    2.times { @loop.turn(0) }
    pieces.each do |piece|
      client.write_nonblock(piece, exception: false)
      2.times { @loop.turn(0) }
    end
    answer = client.read_nonblock(1_000, exception: false)
    answer == :wait_readable ? "" : answer.to_s
  rescue Errno::ECONNRESET
    ""
  end

  def served = @supervisor.node_pool.served
end
