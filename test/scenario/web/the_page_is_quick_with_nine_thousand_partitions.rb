# frozen_string_literal: true

# With 9,000 partitions, all of which fail, the page has a hundred rows and says how many
# more there are. It draws a status, a sort and each letter of a filter within moments, and sorts no
# row at an event. The size of the first status, several MiB, disconnects no page, not even one that
# has read hardly any of it when the next statuses come.
require "socket"
require_relative "scenario"

PARTITIONS = 9_000
SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 3, liveness_timeout: 120 do |swarm|
    swarm.work do |node|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      rows = lambda do |turn|
        Array.new(#{PARTITIONS / 3}) do |index|
          number = index * 3 + node.id
          { "topic" => "orders", "partition" => number, "held" => true, "rate" => 1.5,
            "lag" => (number * 7919 + turn) % 100_003, "position" => number, "messages" => 1, "retries" => 0,
            "dead_letters" => 0, "skipped" => 0, "rebalances" => 1,
            "failing" => { "cause" => "dependency", "messages" => 1, "offset" => 41, "since" => began, "attempt" => 3,
                           "at" => "app/models/billing/invoice.rb:12", "error" => "Timeout::Error: " + "x" * 150 } }
        end
      end
      turn = 0
      until node.stopping?
        node.work = { "kind" => "kafka", "group" => "billing", "lag" => 1, "lag_unknown" => 0,
                      "rate" => 1.5, "partitions" => rows.call(turn += 1) }
        node.ready! if turn == 1
        node.wait(2)
      end
    end
  end
RUBY
ROWS = "document.querySelectorAll('#partitions tbody tr:not(.under)').length"
SAID = "document.querySelector('#partitions-part [role=status]').textContent"
# How many milliseconds each of these takes until it is drawn.
DURATIONS = <<~SCRIPT
  new Promise(async (done) => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
    const took = []
    for (const act of acts) {
      const began = performance.now()
      act()
      await frame()
      took.push(Math.round(performance.now() - began))
    }
    done(took)
  })
SCRIPT
# Opens the stream anew, so that it can be given events; returns how often all rows are sorted in so
# many frames with an event each.
EVENTS = 40
SORTS = <<~SCRIPT
  (async () => {
    const streams = []
    const Source = EventSource
    window.EventSource = class extends Source { constructor(...all) { super(...all); streams.push(this) } }
    for (const hidden of [true, false]) {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true })
      document.dispatchEvent(new Event("visibilitychange"))
    }
    const [stream] = streams
    await new Promise((come) => stream.addEventListener("message", ({ data }) => data.includes('"changes"') && come()))
    const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
    await frame()
    let sorts = 0
    const sort = Array.prototype.sort
    Array.prototype.sort = function (...how) { if (this.length === #{PARTITIONS}) sorts += 1; return sort.apply(this, how) }
    for (let seq = 1; seq <= #{EVENTS}; seq += 1) {
      const event = { seq: `test ${seq}`, time: new Date().toISOString(), level: "info", event: "planted", text: "" }
      stream.dispatchEvent(new MessageEvent("message", { data: JSON.stringify({ swarm: "hive", event }) }))
      await frame()
    }
    Array.prototype.sort = sort
    return [sorts, [...document.querySelectorAll("#events *")].some((one) => one.textContent.includes("planted"))]
  })()
SCRIPT
MOST = Patience.of(3000) # milliseconds; it takes some 100 of a processor

# A page whose buffers are those of a network and not of a loopback interface: there the kernel
# takes some 3 MB of what isn't read.
class RawPage
  PIECE = 65_536
  SEGMENT = 1400 # bytes

  def initialize(url)
    host, @port = url[%r{//([^/]+)}, 1].split(":")
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, PIECE)
    @socket.setsockopt(:TCP, :MAXSEG, SEGMENT)
    @socket.connect(Socket.sockaddr_in(@port, host))
    @socket.write("GET /live HTTP/1.1\r\nHost: #{host}:#{@port}\r\n\r\n")
    @text = String.new(encoding: Encoding::BINARY)
  end

  # Returns the next message with that key.
  def message(key)
    loop do
      line = next_line
      facts = line.start_with?("data: ") ? JSON.parse(line.delete_prefix("data: ")) : {}
      return facts.fetch(key) if facts.key?(key)
    end
  end

  def close = @socket.close

  private

  # In pieces: it is searched for its end once only.
  def next_line
    pieces = []
    until (at = @text.index("\n"))
      pieces << @text
      @text = read
    end
    line = pieces.join + @text.slice!(0..at)
    line.force_encoding(Encoding::UTF_8).chomp
  end

  def read
    @socket.wait_readable(Scenario::SECONDS) or raise Scenario::Failed, "the page gets nothing"
    @socket.readpartial(PIECE)
  rescue EOFError, Errno::ECONNRESET
    raise Scenario::Failed, "a page that reads slowly was disconnected"
  end
end

WebScenario.play do
  swarm = run_swarm(SWARM)
  swarm.await("node_ready", times: 3)
  url = serve(swarm)
  browse do |browser|
    page = browser.page
    began = Skep::OS.now
    page.visit(url)
    page.await("#{ROWS} == 100")
    opened = Skep::OS.now - began
    said = page.evaluate(SAID)
    must("say how many there are, not #{said}") do
      said == "9,000 partitions, 9,000 with a problem, the first 100 are shown"
    end

    acts = <<~SCRIPT
      const find = document.querySelector("[data-filter=partitions]")
      const type = (text) => () => { find.value = text; find.dispatchEvent(new Event("input")) }
      const head = (name) => () => [...document.querySelectorAll("#partitions .sorter")].find((one) => one.textContent == name).click()
      const draw = () => dispatchEvent(new Event("choice")) // as after a status
      const acts = [draw, draw, head("Lag"), head("Lag"), head("Failing"), ...["o", "or", "orders/8", "orders/89"].map(type)]
    SCRIPT
    took = page.evaluate("(async () => { #{acts} return await #{DURATIONS} })()")
    said = page.evaluate(SAID)
    must("count what is found, not #{said}") do
      said == "111 of 9,000 partitions, 111 with a problem, the first 100 are shown"
    end
    more = "document.querySelector('#partitions .next').click()"
    page.evaluate("(() => { #{acts} type('')(); #{more} })()")
    must("show more when asked, not #{page.evaluate(ROWS)}") { page.evaluate(ROWS) == 200 }
    resident = File.read("/proc/#{web_pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i / 1024
    puts "opened in #{opened.round(1)} s; draws, sorts and filters in #{took} ms; the server " \
         "takes #{resident} MiB"
    must("be quick: #{took}") { took.max <= MOST }
    requests = page.requests.count { |to| to.end_with?("/live") }
    must("keep one stream, not open #{requests}") { requests == 1 }
    sorts, shown = page.evaluate(SORTS)
    must("show the events") { shown }
    must("sort rows at statuses only, not #{sorts} times at #{EVENTS} events") do
      sorts < EVENTS / 4
    end

    slow, quick = Array.new(2) { RawPage.new(url) }
    3.times { quick.message("changes") } # by then slow was written to as often
    rows = slow.message("is")["partitions"].size
    must("send a slow page all rows, not #{rows}") { rows == PARTITIONS }
    must("send it what has changed meanwhile") { slow.message("changes").key?("partitions") }
    [slow, quick].each(&:close)
  end
  stop_web
end
