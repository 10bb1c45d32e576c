# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/control"

# Clients that follow a swarm's events over its control socket.
class EventStreamTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config) do
    def abstract_lock = nil
    def events = @events ||= Skep::Swarm::Runtime::EventBus.new
  end

  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "a.sock")
    config = Skep::Swarm::Definition::Config.new("a", { control: @path }, tasks: [{}])
    @loop = Skep::OS::EventLoop.new
    @server = Skep::Control::Server.new
    @server.event("before", :info, {})
    @server.configured(Supervisor.new(@loop, config))
    @clients = []
  end

  def teardown
    @clients.each(&:close)
    @server.on_close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "a follower receives each event as a numbered line" do
    client = followed
    assert_equal({ "v" => 1, "follow" => { "seq" => 1 } }, JSON.parse(line(client)))
    @server.event("node_died", :warn, { node: 0, signal: "KILL", url: "redis://u:secret@h" })
    event = JSON.parse(line(client))

    assert_equal [1, 2, "warn", "node_died", "a", 0, "KILL", "redis://u:[secret]@h"],
                 event.values_at(*%w[v seq level event swarm node signal url])
    assert_kind_of Float, event["mono"]
  end

  test "all followers receive the events, even after one of them closes" do
    first, second = followed, followed
    [first, second].each { |client| line(client) }
    first.close
    3.times { |number| @server.event("many", :info, { number: }) }
    @loop.turn(0)

    assert_equal([0, 1, 2], Array.new(3) { JSON.parse(line(second))["number"] })
  end

  test "a follower that has closed its writing end still receives events" do
    client = followed
    client.close_write
    line(client)
    3.times { @loop.turn(0) }
    @server.event("late", :info, {})

    assert_equal "late", JSON.parse(line(client))["event"]
  end

  test "a follower that closes makes room for the next one at once" do
    20.times { followed.tap { |client| line(client) }.close }
    3.times { @loop.turn(0) }

    assert JSON.parse(line(followed)).key?("follow")
  end

  test "a follower that doesn't read is closed, with the number of events that it missed" do
    client = followed
    line(client)
    published = 1
    published += 1 while publish_more
    lines = read_all(client).map { |text| JSON.parse(text) }
    last = lines.pop

    assert_equal((2..lines.size + 1).to_a, lines.map { |event| event["seq"] })
    assert_equal published, lines.size + last["missed"]
    assert_match(/reads too slowly/, last["error"])
  end

  test "a ninth follower is refused until one of the eight closes" do
    clients = Array.new(8) { followed }
    clients.each { |client| line(client) }

    assert_match(/8 clients follow already/, JSON.parse(line(followed))["error"])
    clients.first.close
    3.times { @loop.turn(0) }
    @server.event("noticed", :info, {}) # at the latest
    assert JSON.parse(line(followed)).key?("follow")
  end

  test "an event of level debug isn't formatted without a follower that asks for them" do
    streams = [open_stream, open_stream { |client| client.history(follow: true) }]
    uninspectable = Object.new
    def uninspectable.inspect = raise("formatted")
    @server.event("odd", :debug, { uninspectable: })
    @server.event("told", :info, {})

    told = streams.map { |stream| taken(stream).map { |event| event["event"] } }
    assert_equal [["told"], ["told"]], told
  end

  test "who asks for them gets events of level debug, and no event is lost by either" do
    every, history, usual = [{ debug: true }, { debug: true, follow: true }, {}].map do |how|
      open_stream { |client| how[:follow] ? client.history(**how) : client.events(**how) }
    end
    2.times { @server.event("detail", :debug, {}) }
    @server.event("told", :info, {})
    names = [every, history, usual].map { |stream| taken(stream).map { |event| event["event"] } }

    all = %w[detail detail told]
    assert_equal [all, all, %w[told]], names
    assert_equal [[0] * 3, 2], [[every, history, usual].map(&:lost), history.position.last]
  end

  test "a follower receives the swarm's last event, then the end" do
    client = followed
    line(client)
    @server.event("swarm_stopped", :info, { status: 0 })
    @server.on_close

    assert_equal "swarm_stopped", JSON.parse(line(client))["event"]
    assert_nil client.gets
  end

  test "an event stream returns events, and counts those that never arrived" do
    stream = open_stream
    @server.event("one", :info, { node: 1 })
    assert_equal([["one", 1]], taken(stream).map { |event| event.values_at("event", "node") })
    assert_predicate stream.lost, :zero?
    nil while publish_more
    taken(stream) until stream.ended?

    assert_operator stream.lost, :>, 0
    assert_match(/too slowly/, stream.error)
  end

  test "an event stream that is refused or finds no swarm raises an error with the reason" do
    unreachable = assert_raises(Skep::Control::Unreachable) do
      Skep::Control::Client.new("#{@directory}/none.sock").events
    end
    8.times { line(followed) }

    assert_match(/no swarm answers at/, unreachable.message)
    refused = assert_raises(Skep::Control::EventsRefused) { open_stream }
    assert_match(/can't be followed: 8 clients follow already/, refused.message)
  end

  test "the past comes first, then each event as it happens, and none twice or never" do
    @server.event("hidden", :debug, {})
    5.times { |number| @server.event("many", :warn, { number: }) }
    stream = open_stream { |client| client.history(follow: true) }
    @server.event("live", :info, {})
    live = taken(stream)
    past = stream.take_past

    assert_equal([*1..6], past.map { |event| event["seq"] })
    assert_equal ["before", "many"], past.map { |event| event["event"] }.uniq
    assert_equal([["live", 7]], live.map { |event| event.values_at("event", "seq") })
    assert_equal [nil, 0, 7], [stream.take_past, stream.lost, stream.position.last]
  end

  test "without follow the stream ends after the past" do
    stream = open_stream(&:history)
    taken(stream) until stream.ended?

    assert_equal [["before"], nil], [stream.take_past.map { |event| event["event"] }, stream.error]
    assert_equal 9, Array.new(9) { open_stream(&:history) }.uniq.size # more than may follow
  end

  test "a past larger than a socket's buffer arrives whole, with what happens meanwhile" do
    999.times { |number| @server.event("many", :info, { number:, text: "x" * 1900 }) }
    stream = open_stream { |client| client.history(follow: true) }
    live = Array.new(5) do |number|
      @server.event("meanwhile", :info, { number: })
      taken(stream)
    end
    live << taken(stream) until live.flatten.size == 5

    assert_equal [1000, 0], [stream.take_past.size, stream.lost]
    assert_equal [*0..4], live.flatten.map { |event| event["number"] }
  end

  test "a stream after a position begins with what came later, and tells how much is missing" do
    first = open_stream { |client| client.history(follow: true) }
    first.take_past
    first.close
    @server.event("one", :info, {})
    second = open_stream { |client| client.history(follow: true, after: first.position) }
    assert_equal(["one"], second.take_past.map { |event| event["event"] })

    1010.times { @server.event("many", :info, {}) }
    third = open_stream { |client| client.history(after: second.position) }
    taken(third) until third.ended?
    gap, *events = third.take_past
    assert_equal ["10 events missing", 1000, 10], [gap.to_s, events.size, third.lost]
  end

  test "a stream after a position of an earlier supervisor has all, and tells of the restart" do
    stream = open_stream { |client| client.history(follow: true, after: ["1-1", 500]) }
    gap, *events = stream.take_past

    assert_match(/supervisor was started anew/, gap.to_s)
    assert_equal ["before"], events.map { |event| event["event"] }
  end

  test "an event of a node may have facts of any name and kind" do
    @server.event("odd", :info, { status: 500, error: { code: 1 }, history: 1, missed: 2 })
    stream = open_stream { |client| client.history(follow: true) }
    @server.event("odd", :info, { status: nil, error: [], follow: {} })
    events = [*taken(stream), *stream.take_past.last(1)]

    assert_equal [nil, 500], events.map { |event| event["status"] }
    assert_equal [[], { "code" => 1 }], events.map { |event| event["error"] }
  end

  test "secrets are in no kept event" do
    @server.event("odd", :info, { url: "redis://u:hunter2@h", password: "hunter2" })
    past = open_stream(&:history).take_past
    assert_equal %w[redis://u:[secret]@h [secret]], past.last.values_at("url", "password")
  end

  private

  def followed
    socket = UNIXSocket.new(@path)
    @clients << socket
    socket.write(%({"v":1,"command":"follow"}\n))
    by = deadline(10)
    @loop.turn(0.01) until socket.wait_readable(0) || seconds_until(by).zero?
    socket
  end

  # Client#events waits for its answer in a thread, because the loop must turn meanwhile.
  def open_stream(&ask)
    ask ||= :events.to_proc
    asking = Thread.new { ask.call(Skep::Control::Client.new(@path)) }
    asking.report_on_exception = false
    by = deadline(10)
    @loop.turn(0.01) until !asking.alive? || seconds_until(by).zero?
    asking.value.tap { |stream| @clients << stream }
  end

  def taken(stream)
    @loop.turn(0)
    wait_readable(stream.to_io)
    stream.read
  end

  def line(client)
    @loop.turn(0)
    wait_readable(client)
    client.gets
  end

  # Returns false once no follower is left.
  def publish_more
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
