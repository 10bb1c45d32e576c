# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/control"

# Those who follow a swarm's events over its control socket.
class EventStreamTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config)

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    @loop = Skep::OS::EventLoop.new
    @server = Skep::Control::Server.new
    @server.event("before", :info, {})
    @server.configured(Supervisor.new(@loop, config))
    @ours = []
  end

  def teardown
    @ours.each(&:close)
    @server.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "tells each event as it happens, as a numbered line" do
    client = followed
    assert_equal({ "v" => 1, "follow" => { "seq" => 1 } }, JSON.parse(line(client)))
    @server.event("node_died", :warn, { node: 0, signal: "KILL", url: "redis://u:secret@h" })
    event = JSON.parse(line(client))

    assert_equal [1, 2, "warn", "node_died", "a", 0, "KILL", "redis://u:[secret]@h"],
                 event.values_at(*%w[v seq level event swarm node signal url])
    assert_kind_of Float, event["mono"]
  end

  test "tells several, and goes on when one goes" do
    first, second = followed, followed
    [first, second].each { |client| line(client) }
    first.close
    3.times { |number| @server.event("many", :info, { number: }) }
    @loop.turn(0)

    assert_equal([0, 1, 2], Array.new(3) { JSON.parse(line(second))["number"] })
  end

  test "goes on for a client that has closed its own side" do
    client = followed
    client.close_write
    line(client)
    3.times { @loop.turn(0) }
    @server.event("late", :info, {})

    assert_equal "late", JSON.parse(line(client))["event"]
  end

  test "makes room for the next one as soon as one goes" do
    20.times { followed.tap { |client| line(client) }.close }
    3.times { @loop.turn(0) }

    assert JSON.parse(line(followed)).key?("follow")
  end

  test "drops who doesn't read, and tells how much was missed" do
    client = followed
    line(client)
    told = 1
    told += 1 while tell_more
    lines = read_all(client).map { |text| JSON.parse(text) }
    last = lines.pop

    assert_equal((2..lines.size + 1).to_a, lines.map { |event| event["seq"] })
    assert_equal told, lines.size + last["missed"]
    assert_match(/reads too slowly/, last["error"])
  end

  test "refuses more than a few" do
    clients = Array.new(8) { followed }
    clients.each { |client| line(client) }

    assert_match(/8 clients follow already/, JSON.parse(line(followed))["error"])
    clients.first.close
    3.times { @loop.turn(0) }
    @server.event("noticed", :info, {}) # at the latest
    assert JSON.parse(line(followed)).key?("follow")
  end

  test "costs nothing where nobody follows" do
    unspeakable = Object.new
    def unspeakable.inspect = raise("asked")

    assert_nil @server.event("odd", :info, { unspeakable: })
  end

  test "ends with the swarm, its last word told" do
    client = followed
    line(client)
    @server.event("swarm_stopped", :info, { status: 0 })
    @server.on_close

    assert_equal "swarm_stopped", JSON.parse(line(client))["event"]
    assert_nil client.gets
  end

  test "a feed gives events, and counts those that never came" do
    feed = feed()
    @server.event("one", :info, { node: 1 })
    assert_equal([["one", 1]], taken(feed).map { |event| event.values_at("event", "node") })
    assert_predicate feed.lost, :zero?
    nil while tell_more
    taken(feed) until feed.ended?

    assert_operator feed.lost, :>, 0
    assert_match(/too slowly/, feed.error)
  end

  test "a feed says why there is none" do
    nobody = assert_raises(Skep::Control::Unreachable) do
      Skep::Control::Client.new("#{@directory}/none.sock").events
    end
    8.times { line(followed) }

    assert_match(/no swarm answers at/, nobody.message)
    refused = assert_raises(Skep::Control::EventsRefused) { feed }
    assert_match(/can't be followed: 8 clients follow already/, refused.message)
  end

  private

  def followed
    socket = UNIXSocket.new(@path)
    @ours << socket
    socket.write(%({"v":1,"command":"follow"}\n))
    by = deadline(10)
    @loop.turn(0.01) until socket.wait_readable(0) || seconds_until(by).zero?
    socket
  end

  # Asked by a thread, for a Feed waits for its answer while the loop must turn.
  def feed
    asking = Thread.new { Skep::Control::Client.new(@path).events }
    asking.report_on_exception = false
    by = deadline(10)
    @loop.turn(0.01) until !asking.alive? || seconds_until(by).zero?
    asking.value.tap { |feed| @ours << feed }
  end

  def taken(feed)
    @loop.turn(0)
    wait_readable(feed.to_io)
    feed.read
  end

  def line(client)
    @loop.turn(0)
    wait_readable(client)
    client.gets
  end

  # False once nobody is left to tell.
  def tell_more
    @server.event("many", :info, { text: "x" * 1_000 })
    @server.instance_variable_get(:@sessions).any?(&:follows?)
  end

  def read_all(client)
    text = +""
    loop do
      @loop.turn(0)
      text << client.read_nonblock(65_536)
    end
  rescue EOFError
    text.lines
  end
end
