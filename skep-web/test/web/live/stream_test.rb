# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/web"

# The stream of an open page, for a swarm whose socket is answered by a thread.
class WebStreamTest < Skep::TestCase
  # Answers `status` with `uptime`, keeps followers, and counts the requests.
  class Swarm
    attr_reader :requests, :followers
    attr_accessor :uptime, :facts, :mute, :past

    def initialize(path)
      @path = path
      @server = UNIXServer.new(path)
      @requests = Queue.new
      @followers = Queue.new
      @uptime = 1
      @facts = {}
      @past = { run: "1", lost: 0, events: [], series: nil }
      @thread = Thread.new { serve until @closing }
    end

    def serve
      client = @server.accept
      kept = answer(client, JSON.parse(client.gets)["command"])
    rescue SystemCallError, TypeError # the client left without a request
      nil
    ensure
      client&.close unless kept
    end

    # Returns true if the client stays.
    def answer(client, command)
      @requests << command
      return follow(client) if command == "history"
      return false if @mute

      client.puts(JSON.generate(v: 1, status:))
      false
    end

    def status
      { name: "hive", state: "running", uptime: @uptime, nodes: [
        { id: 0, state: "ready", memory: { uss: 3, pss: 5 }, work: { done: 1, **@facts } }
      ] }
    end

    def follow(client)
      events = @past[:events]
      client.puts(JSON.generate(v: 1, history: { seq: 1, **@past, events: events.size }))
      events.each { |event| client.puts(JSON.generate(v: 1, **event)) }
      @followers << client
      true
    end

    # (A thread that is killed just as `accept` returns leaves the client's socket open.)
    def close
      @closing = true
      UNIXSocket.open(@path, &:close)
      @thread.join
      @server.close
      @followers.pop.close until @followers.empty?
    end
  end

  def setup
    @directory = Dir.mktmpdir
    @path = "#{@directory}/hive.sock"
    @swarm = Swarm.new(@path)
    @web = Skep::Web.new(control: @path, every: 0.1)
    @pages = []
  end

  def teardown
    @pages.each(&:close)
    @web.close
    @swarm&.close
    FileUtils.remove_entry(@directory)
  end

  test "a page that opens gets the swarm's whole status, then its changes" do
    page = open
    assert_equal ["hive"], receive(page)["swarms"]
    assert_equal "the page is looking for it", receive(page).dig("is", "away")
    view = receive(page)["is"]
    assert_equal [nil, 1, 3, 2], [view["away"], view["uptime"],
                                  *view["sums"].values_at("own", "shared")]
    @swarm.uptime = 2
    assert_equal 2, change(page) { |facts| facts["uptime"] }
  end

  test "a page begins with the events and the numbers that the swarm has kept" do
    @swarm.past = { run: "1", lost: 4, series: { at: [Skep::OS.now - 60], lines: { lag: [17] } },
                    events: [{ seq: 5, event: "node_died", level: "warn", node: 0 }] }
    page = open
    events, series = loop do
      facts = receive(page)
      break facts.values_at("events", "series") if facts["events"]&.any?
    end
    assert_equal(["4 events missing", "node_died"], events.map { |one| one["gap"] || one["event"] })
    assert_equal [17], series["lines"]["lag"].compact
  end

  test "a page that is opened later begins with what happened meanwhile, too" do
    @swarm.past[:events] = [{ seq: 1, event: "first", level: "info" }]
    page = open
    uptime(page)
    page.close
    follower = @swarm.followers.pop
    wait_readable(follower).gets
    @swarm.past = { run: "1", lost: 3, series: nil,
                    events: [{ seq: 1, event: "first" }, { seq: 4, event: "second" }] }
    page = open
    events = receive_with(page, "events") until events.to_a.size > 1
    assert_equal(["first", "2 events missing", "second"],
                 events.map { |one| one["gap"] || one["event"] })
  ensure
    follower&.close
  end

  test "a page gets each event, and soon after it the changes of another poll" do
    @web = Skep::Web.new(control: @path, every: 60) # so that only the event leads to a poll
    page = open
    uptime(page)
    @swarm.uptime = 7
    follower = @swarm.followers.pop
    follower.puts(JSON.generate(v: 1, seq: 2, time: "2026-01-01T00:00:00Z", level: "warn",
                                event: "node_died", node: 0, pid: 9, signal: "KILL"))
    event = receive_with(page, "event")
    assert_equal ["node_died", "0", "signal=KILL"], event.values_at("event", "node", "text")
    assert_equal 7, change(page) { |facts| facts["uptime"] }
  ensure
    follower&.close
  end

  test "a swarm has one follower for all pages, and none once the last page is closed" do
    pages = [open, open]
    pages.each { |page| uptime(page) }
    follower = @swarm.followers.pop
    pages.each(&:close)
    assert_nil wait_readable(follower).gets
    assert_empty @swarm.followers
  ensure
    follower&.close
  end

  test "a page shows when the swarm is away, and when it is back" do
    page = open
    uptime(page)
    @swarm.close # perhaps during an answer, whose failure is reported first
    assert(change(page) { |facts| facts["away"]&.match?(/no such swarm/) })
    File.unlink(@path)
    @swarm = Swarm.new(@path)
    assert(change(page) { |facts| facts.key?("away") && facts["away"].nil? })
  end

  test "a swarm that closes the connection without an answer is away until it answers" do
    page = open
    uptime(page)
    @swarm.mute = true
    assert_match(/doesn't answer/, change(page) { |facts| facts["away"] })
    @swarm.mute = false
    assert(change(page) { |facts| facts.key?("away") && facts["away"].nil? })
  end

  test "without rack.hijack the stream is the body of the response" do
    _, headers, body = live({})
    assert_equal "text/event-stream", headers["content-type"]
    reader, writer = Skep::OS.pipe
    sending = Thread.new { body.each { |text| writer.write(text) } }
    assert_equal ["hive"], receive(reader)["swarms"]
    @web.close
    sending.join
  ensure
    [reader, writer].each(&:close)
  end

  test "a page that doesn't read is disconnected" do
    loop = Skep::OS::EventLoop.new
    here, there = UNIXSocket.pair
    closed = []
    connection = Skep::Web::Live::SseConnection.new(here, loop) { |one| closed << one }
    frame = "data: #{"x" * 100_000}\n\n"
    100.times { connection.write(frame) }
    assert_equal [[connection], true], [closed, here.closed?]
  ensure
    loop.close
    there.close
  end

  test "a page may leave whole states unread, and is disconnected for what comes beside them" do
    loop = Skep::OS::EventLoop.new
    here, there = UNIXSocket.pair
    closed = false
    connection = Skep::Web::Live::SseConnection.new(here, loop) { closed = true }
    whole = "data: #{"x" * 4_000_000}\n\n"
    2.times { connection.write(whole, whole: true) }
    10.times { connection.write("data: #{"y" * 100_000}\n\n") }
    refute closed
    reading = Thread.new { there.read((2 * whole.size) + (10 * 100_008)) }
    while reading.alive?
      loop.after(0.05) { nil } # all may have been written
      loop.turn
    end
    30.times { connection.write("data: #{"y" * 100_000}\n\n") }
    assert closed
  ensure
    loop.close
    [here, there].each(&:close)
  end

  test "a page that reads slowly gets a state of any size, and what comes meanwhile" do
    @swarm.facts = failing(9_000)
    slow, quick = open, open
    assert_operator quick_state(quick).size, :>, 3 * 1024 * 1024
    follower = @swarm.followers.pop
    follower.puts(JSON.generate(v: 1, seq: 2, level: "warn", event: "node_died", node: 0))
    assert_equal "node_died", receive_with(quick, "event")["event"] # slow was written to before
    state = receive_with(slow, "is") until state&.key?("nodes")
    assert_equal 9_000, state["partitions"].size
    assert_equal "node_died", receive_with(slow, "event")["event"]
  ensure
    follower&.close
  end

  test "no JSON is made for nobody" do
    uptime(page = open)
    page.close
    follower = @swarm.followers.pop
    wait_readable(follower).gets # the last page has closed
    framed = Queue.new
    frame = Skep::Web::Live::SseConnection.method(:frame)
    counted = lambda do |facts|
      framed << facts
      frame.call(facts)
    end
    Skep::Web::Live::SseConnection.stub(:frame, counted) { uptime(open) }
    assert framed.pop.key?(:swarms)
  ensure
    follower&.close
  end

  test "a page that reads gets a frame of any size" do
    loop = Skep::OS::EventLoop.new
    here, there = UNIXSocket.pair
    connection = Skep::Web::Live::SseConnection.new(here, loop) { flunk "it was disconnected" }
    frame = "data: #{"x" * 8_000_000}\n\n"
    connection.write(frame)
    reading = Thread.new { there.read(frame.size) }
    while reading.alive?
      loop.after(0.05) { nil } # all may have been written
      loop.turn
    end
    assert_equal frame, reading.value
    connection.write("data: 1\n\n")
    assert_equal "data: 1\n\n", wait_readable(there).readpartial(100)
  ensure
    loop.close
    [here, there].each(&:close)
  end

  test "a forked child serves pages of its own" do
    page = open
    uptime(page)
    pid, reader = in_child do |writer|
      own = open
      @swarm.uptime = 0 # of the child's copy: the thread that answers is the parent's
      writer.puts(uptime(own))
    end
    assert_equal "1", wait_readable(reader).gets.chomp
    Process.wait(pid)
    @swarm.uptime = 3
    assert_equal 3, change(page) { |facts| facts["uptime"] }
  end

  test "a closed page makes room for another one, and a forked child has its own limit" do
    pages = Array.new(64) { open }
    status = -> { live("rack.hijack?" => true)[0] }
    assert_equal [503, 503], [status.call, status.call]
    pid, reader = in_child { |writer| writer.puts(uptime(open)) }
    assert_equal "1", wait_readable(reader).gets&.chomp
    Process.wait(pid)
    uptime(pages.last)
    pages.shift(2).each(&:close)
    @swarm.uptime = 2
    assert_equal 2, change(pages.last) { |facts| facts["uptime"] }
    assert_equal [200, 200, 503], Array.new(3) { status.call }
  end

  test "a log-out closes the pages of that session only" do
    @web.close
    @web = Skep::Web.new(control: @path, every: 0.1, user: "ada", password: "secret")
    mine, others = Array.new(2) { log_in }
    pages = [mine, others].map { |cookie, _| open("HTTP_COOKIE" => cookie) }
    pages.each { |page| uptime(page) }
    cookie, token = mine
    assert_equal 303, send_form("/logout", "token=#{token}", cookie)[0]
    loop { wait_readable(pages.first).gets or break }
    assert_equal 401, live("HTTP_COOKIE" => cookie)[0]
    @swarm.uptime = 5
    assert_equal 5, change(pages.last) { |facts| facts["uptime"] }
  end

  test "a page's stream ends when its session expires, and doesn't come back without a login" do
    @web.close
    @web = Skep::Web.new(control: @path, every: 0.1, user: "ada", password: "secret", secret: "s")
    lasting = log_in.first
    page, other = [session_cookie(seconds: 3), lasting].map do |cookie|
      open("HTTP_COOKIE" => cookie)
    end
    [page, other].each { |one| uptime(one) }
    loop { wait_readable(page).gets or break }
    @swarm.uptime = 5
    assert_equal 5, change(other) { |facts| facts["uptime"] }
  end

  private

  # Returns the cookie of a session of ada's that expires in so many seconds.
  def session_cookie(seconds:)
    facts = Skep::Web::Auth::Session.facts("ada")
    facts["expires_at"] = Skep::OS.now + seconds
    key = Skep::Web::Auth::SignedCookie.key("s")
    cookie = Skep::Web::Auth::SignedCookie.new("skep_web", key, purpose: "session")
    response = Rack::Response.new
    request = Skep::Web::HTTP::Request.new({ "HTTP_HOST" => "x", "rack.url_scheme" => "http" }, nil)
    cookie.write(request, response, facts)
    response.headers["set-cookie"][/[^;]+/]
  end

  # Returns a cookie, and the token of its page.
  def log_in
    first = request("GET", "/")
    form = "user=ada&password=secret&token=#{token(first)}"
    cookie = cookie_of(send_form("/login", form, cookie_of(first)))
    [cookie, token(request("GET", "/", "HTTP_COOKIE" => cookie))]
  end

  def cookie_of(response) = response[1]["set-cookie"][/[^;]+/]
  def token(response) = response[2].join[/\h{64}/]

  def request(method, path, env = {})
    @web.call({ "REQUEST_METHOD" => method, "PATH_INFO" => path, "HTTP_HOST" => "x",
                "rack.url_scheme" => "http", **env })
  end

  def send_form(path, body, cookie)
    request("POST", path, "HTTP_COOKIE" => cookie, "rack.input" => StringIO.new(body),
                          "CONTENT_TYPE" => "application/x-www-form-urlencoded")
  end

  def live(env) = request("GET", "/live", env)

  # The browser's end of a page that opens.
  def open(env = {})
    here, there = UNIXSocket.pair
    live({ "rack.hijack?" => true, **env })[1].fetch("rack.hijack").call(there)
    @pages << here
    here
  end

  def receive(page)
    loop do
      line = wait_readable(page).gets or flunk "the page was closed"
      return JSON.parse(line.delete_prefix("data: ")) if line.start_with?("data: ")
    end
  end

  def receive_with(page, key)
    loop { receive(page).then { |facts| return facts[key] if facts[key] } }
  end

  # Returns what the block finds in the next changes.
  def change(page)
    loop { yield(receive_with(page, "changes"))&.then { |found| return found } }
  end

  # What a node reports of so many partitions that all fail.
  def failing(partitions)
    failure = { cause: "dependency", messages: 1, offset: 41, since: 1.0, attempt: 3,
                at: "app/models/billing/invoice.rb:12", error: "Timeout::Error: #{"x" * 184}" }
    rows = Array.new(partitions) do |number|
      { topic: "orders", partition: number, held: true, rate: 1.5, lag: number, position: number,
        messages: 1, retries: 0, dead_letters: 0, skipped: 0, rebalances: 1, failing: failure }
    end
    { kind: "kafka", group: "billing", lag: 1, lag_unknown: 0, rate: 1.5, partitions: rows }
  end

  # Returns the line with the swarm's first status.
  def quick_state(page)
    loop do
      line = wait_readable(page).gets or flunk "the page was closed"
      return line if line.include?('"nodes":')
    end
  end

  # Returns the swarm's uptime, once the page has received it.
  def uptime(page)
    loop do
      facts = receive(page)
      up = (facts["is"] || facts["changes"] || {})["uptime"]
      return up if up
    end
  end
end
