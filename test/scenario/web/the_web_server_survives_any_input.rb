# frozen_string_literal: true

# `skep web` survives any input without using more memory or disturbing a swarm: invalid requests,
# half requests, browsers that don't read their stream, browsers that disconnect.
#
#   SECONDS=300 SEED=42 ruby test/scenario/web/the_web_server_survives_any_input.rb
require_relative "scenario"

class Fuzz
  PATHS = %w[/ /live /actions /login /logout /threads /assets/page.css /assets/scripts/page.js
             /dead_letters /dead_letters/messages /assets/.. /assets/%00 /.. /%00 /%ff //x /live/
             *].freeze
  HEADS = ["Host: localhost", "Host: evil", "Cookie: skep_web=YWJj; =; ;",
           "Cookie: skep_web=\xFF%zz", "X-Forwarded-For: x, :::1,", "X-Forwarded-Host: \xFF",
           "Content-Length: 99999999", "Content-Length: -1", "Transfer-Encoding: chunked",
           "Origin: null", "X-Skep-Token: \xFF",
           "Content-Type: application/json", "Sec-Fetch-Site: cross-site", "Range: bytes=0-1",
           "If-None-Match: \"x\"", "Accept: text/event-stream", "Connection: close"].freeze
  METHODS = %w[GET GET GET POST POST HEAD PUT DELETE OPTIONS TRACE nonsense].freeze

  attr_reader :done

  def initialize(url, random)
    @port = url[/:(\d+)/, 1].to_i
    @random = random
    @open = []
    @done = Hash.new(0)
  end

  def turn
    kind = %i[request request garbage half stream slow].sample(random: @random)
    @done[kind] += 1
    send(kind)
    @open.shift.close while @open.size > 40
  rescue SystemCallError, EOFError # the server has closed the connection
    @done[:refused] += 1
  end

  def close = @open.each(&:close)

  private

  def connect = TCPSocket.new("127.0.0.1", @port)

  def text(close: true)
    query = "?#{@random.bytes(@random.rand(20)).unpack1("H*")}=%#{@random.rand(300)}"
    heads = HEADS.sample(@random.rand(5), random: @random)
    ["#{METHODS.sample(random: @random)} #{PATHS.sample(random: @random)}#{query} HTTP/1.1",
     "Host: localhost", *heads, *("Connection: close" if close), "", body].map(&:b).join("\r\n")
  end

  def body = @random.bytes(@random.rand(3) * 3000)

  def request
    socket = connect
    socket.write(text)
    socket.wait_readable(0.3) && socket.read_nonblock(100_000)
  ensure
    socket&.close
  end

  def garbage
    socket = connect
    socket.write(@random.bytes(@random.rand(1..5000)))
  ensure
    socket&.close
  end

  def half
    @open << connect
    @open.last.write(text.byteslice(0, @random.rand(1..60)))
  end

  # Reads the beginning, then disconnects.
  def stream
    socket = connect
    socket.write("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    socket.readpartial(@random.rand(1..5000))
  ensure
    socket&.close
  end

  # Reads nothing, and keeps the connection open.
  def slow
    socket = connect
    socket.setsockopt(:SOCKET, :RCVBUF, 1)
    socket.write("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    @open << socket
  end
end

# The server uses about 33 MiB at first, and 50 to 60 MiB once its heap fits such a load: after 4 s,
# 20 s or 80 s.
MAX_MIB = 80
SECONDS = Float(ENV.fetch("SECONDS", "4"))
SEED = Integer(ENV.fetch("SEED", rand(1 << 32).to_s))

def fds(pid) = Dir.children("/proc/#{pid}/fd").size
def private_bytes(pid) = Skep::OS::Memory.of(pid).uss

WebScenario.play do
  swarm = run_swarm(IDLE)
  swarm.await("node_ready", times: 3)
  url = serve(swarm)
  random = Random.new(SEED)
  supervisor = fds(swarm.pid)

  fuzz = Fuzz.new(url, random)
  deadline = Skep::OS.now + SECONDS
  fuzz.turn while Skep::OS.now < deadline
  fuzz.close

  # The server still serves a new page.
  page = TCPSocket.new("127.0.0.1", url[/:(\d+)/, 1].to_i)
  page.write("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
  text = +""
  text << page.readpartial(65_536) until text.include?("\"uptime\"") || !page.wait_readable(20)
  must("send the swarm's state to a new page, seed #{SEED}") { text.include?("\"uptime\"") }
  page.close

  swarm.follow("the server closes all connections, seed #{SEED}") { fds(web_pid) <= 20 }
  swarm.follow("the supervisor closes them, too, seed #{SEED}") { fds(swarm.pid) <= supervisor }
  size = private_bytes(web_pid) / 1_048_576.0
  must("use less than #{MAX_MIB} MiB, not #{size.round(1)}, seed #{SEED}") { size < MAX_MIB }
  restarts = swarm.status("idle")["nodes"].sum { |node| node["restarts"] }
  must("lose no node, seed #{SEED}") { restarts.zero? }
  must("have no error of its own: #{web_log.lines.grep(/Error|exception/i).first(3)}") do
    web_log.lines.grep(%r{lib/skep/|NoMethod|TypeError}).empty?
  end
  puts "#{SECONDS} s, seed #{SEED}: #{fuzz.done.sort.map { |kind| kind.join(" ") }.join(", ")}; " \
       "descriptors #{fds(web_pid)}, private memory #{size.round(1)} MiB"
  stop_web
end
