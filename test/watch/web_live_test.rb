# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "skep/web"

# The stream of an open page, of a swarm whose socket a thread answers.
class WebLiveTest < Skep::TestCase
  # Answers status with `uptime`, keeps followers, counts who asks.
  class Swarm
    attr_reader :asked, :followers
    attr_accessor :uptime, :facts, :mute

    def initialize(path)
      @server = UNIXServer.new(path)
      @asked = Queue.new
      @followers = Queue.new
      @uptime = 1
      @facts = {}
      @thread = Thread.new { serve while true }
    end

    def serve
      client = @server.accept
      kept = answer(client, JSON.parse(client.gets)["command"])
    rescue SystemCallError, NoMethodError # it went without a word
      nil
    ensure
      client&.close unless kept
    end

    # Does the client stay?
    def answer(client, command)
      @asked << command
      return follow(client) if command == "follow"
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
      client.puts(JSON.generate(v: 1, follow: { seq: 1 }))
      @followers << client
      true
    end

    def close
      @thread.kill.join
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

  test "tells all there is to a page that opens, then what has changed" do
    page = open
    assert_equal ["hive"], heard(page)["swarms"]
    assert_equal "it is being looked for", heard(page).dig("is", "away")
    changes = heard(page)["changes"]
    assert_equal [nil, 1, 3, 2], [changes["away"], changes["uptime"],
                                  *changes["sums"].values_at("own", "shared")]
    @swarm.uptime = 2
    assert_equal 2, changed(page) { |facts| facts["uptime"] }
  end

  test "tells each event, and then what it has changed" do
    @web = Skep::Web.new(control: @path, every: 60) # which asks for itself no more
    page = open
    known(page)
    @swarm.uptime = 7
    follower = @swarm.followers.pop
    follower.puts(JSON.generate(v: 1, seq: 2, time: "2026-01-01T00:00:00Z", level: "warn",
                                event: "node_died", node: 0, pid: 9, signal: "KILL"))
    event = heard_with(page, "event")
    assert_equal ["node_died", "0", "signal=KILL"], event.values_at("event", "node", "text")
    assert_equal 7, changed(page) { |facts| facts["uptime"] }
  ensure
    follower&.close
  end

  test "asks once, for however many pages, and nobody once the last one is closed" do
    pages = [open, open]
    pages.each { |page| known(page) }
    follower = @swarm.followers.pop
    pages.each(&:close)
    assert_nil wait_readable(follower).gets
    assert_empty @swarm.followers
  ensure
    follower&.close
  end

  test "shows when the swarm is away, and when it is back" do
    page = open
    known(page)
    @swarm.close # maybe in the midst of an answer, which is told first
    assert(changed(page) { |facts| facts["away"]&.match?(/no such swarm/) })
    File.unlink(@path)
    @swarm = Swarm.new(@path)
    assert(changed(page) { |facts| facts.key?("away") && facts["away"].nil? })
  end

  test "goes on when a swarm hangs up without an answer" do
    page = open
    known(page)
    @swarm.mute = true
    assert_match(/doesn't answer/, changed(page) { |facts| facts["away"] })
    @swarm.mute = false
    assert(changed(page) { |facts| facts.key?("away") && facts["away"].nil? })
  end

  test "goes on where the server keeps its socket" do
    _, headers, body = live({})
    assert_equal "text/event-stream", headers["content-type"]
    reader, writer = Skep::OS.pipe
    sending = Thread.new { body.each { |text| writer.write(text) } }
    assert_equal ["hive"], heard(reader)["swarms"]
    @web.close
    sending.join
  ensure
    [reader, writer].each(&:close)
  end

  test "closes a page that doesn't read" do
    loop = Skep::OS::EventLoop.new
    here, there = UNIXSocket.pair
    gone = []
    page = page_class.new(here, loop) { |one| gone << one }
    frame = "data: #{"x" * 100_000}\n\n"
    100.times { page.put(frame) }
    assert_equal [[page], true], [gone, here.closed?]
  ensure
    loop.close
    there.close
  end

  test "serves pages of its own in a forked child" do
    page = open
    known(page)
    pid, reader = in_child do |writer|
      own = open
      @swarm.uptime = 0 # its thread isn't here
      writer.puts(known(own))
    end
    assert_equal "1", wait_readable(reader).gets.chomp
    Process.wait(pid)
    @swarm.uptime = 3
    assert_equal 3, changed(page) { |facts| facts["uptime"] }
  end

  test "gives a page's place to another once it has closed, and in a child all of them" do
    pages = Array.new(64) { open }
    refused = -> { live("rack.hijack?" => true)[0] }
    assert_equal [503, 503], [refused.call, refused.call]
    pid, reader = in_child { |writer| writer.puts(known(open)) }
    assert_equal "1", wait_readable(reader).gets&.chomp
    Process.wait(pid)
    known(pages.last)
    pages.shift(2).each(&:close)
    @swarm.uptime = 2
    assert_equal 2, changed(pages.last) { |facts| facts["uptime"] }
    assert_equal [200, 200, 503], Array.new(3) { refused.call }
  end

  test "ends with the session that has opened it" do
    @web.close
    @web = Skep::Web.new(control: @path, every: 0.1, user: "ada", password: "secret")
    mine, others = Array.new(2) { log_in }
    pages = [mine, others].map { |cookie, _| open("HTTP_COOKIE" => cookie) }
    pages.each { |page| known(page) }
    cookie, token = mine
    assert_equal 303, send_form("/logout", "token=#{token}", cookie)[0]
    loop { wait_readable(pages.first).gets or break }
    assert_equal 401, live("HTTP_COOKIE" => cookie)[0]
    @swarm.uptime = 5
    assert_equal 5, changed(pages.last) { |facts| facts["uptime"] }
  end

  private

  # A cookie, and its page's token.
  def log_in
    first = @web.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "HTTP_HOST" => "x" })
    form = "user=ada&password=secret&token=#{token(first)}"
    cookie = jar(send_form("/login", form, jar(first)))
    [cookie, token(@web.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "HTTP_HOST" => "x",
                               "HTTP_COOKIE" => cookie }))]
  end

  def jar(answer) = answer[1]["set-cookie"][/[^;]+/]
  def token(answer) = answer[2].join[/\h{64}/]

  def send_form(path, body, cookie)
    @web.call({ "REQUEST_METHOD" => "POST", "PATH_INFO" => path, "HTTP_HOST" => "x",
                "HTTP_COOKIE" => cookie, "rack.input" => StringIO.new(body),
                "CONTENT_TYPE" => "application/x-www-form-urlencoded" })
  end

  def page_class = Skep::Watch::Web.const_get(:Page)

  def live(env)
    @web.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/live", "HTTP_HOST" => "x", **env })
  end

  # The browser's end of a page that opens.
  def open(env = {})
    here, there = UNIXSocket.pair
    live({ "rack.hijack?" => true, **env })[1].fetch("rack.hijack").call(there)
    @pages << here
    here
  end

  def heard(page)
    loop do
      line = wait_readable(page).gets or flunk "the page was closed"
      return JSON.parse(line.delete_prefix("data: ")) if line.start_with?("data: ")
    end
  end

  def heard_with(page, key)
    loop { heard(page).then { |facts| return facts[key] if facts[key] } }
  end

  # What the block finds in changes.
  def changed(page)
    loop { yield(heard_with(page, "changes"))&.then { |found| return found } }
  end

  # The uptime, once it is told.
  def known(page)
    loop do
      facts = heard(page)
      up = (facts["is"] || facts["changes"] || {})["uptime"]
      return up if up
    end
  end
end
