# frozen_string_literal: true

# Garbage, a hundred megabytes, clients that say nothing, more of them than there are descriptors:
# whoever asks properly is answered, the helper is the same, and the supervisor hasn't noticed.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~RUBY)
    user = "nobody" if Process.uid.zero? # to whom the control socket is closed
    Skep.swarm "assailed", nodes: 1, metrics: "127.0.0.1:0", user: do |swarm|
      swarm.preload { Process.setrlimit(:NOFILE, 64) }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 2)
  helper = pid_of(swarm, "helper")
  before = scrape
  resident = -> { Skep::OS::Memory::Statm.of(helper).rss }
  small = resident.call

  talk = lambda do |*texts, hears: true|
    TCPSocket.open(@host, @port) do |client|
      texts.each { |text| client.write(text) }
      hears ? client.read : ""
    end
  rescue Errno::EPIPE, Errno::ECONNRESET # it is cut, and may be
    ""
  end
  random = Random.new(1)
  50.times { talk.call(random.bytes(2_000), hears: false) }
  must("call garbage a bad request") do
    talk.call("\0\0\0 / HTTP/9.9\r\n\r\n").include?(" 400 Bad Request")
  end
  piece = "x" * 1_000_000
  talk.call("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n",
            *[piece] * 100)
  talk.call("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            *["#{piece.size.to_s(16)}\r\n#{piece}\r\n"] * 100)
  talk.call("GET /#{piece}", *[piece] * 100)
  must("not keep any of it: from #{small} to #{resident.call}") do
    resident.call < small + 24_000_000
  end

  silent = Array.new(100) { TCPSocket.new(@host, @port) }
  silent.each { |client| client.write("GET /met") }
  slow = silent.pop
  silent.each(&:close)
  must("answer once they have gone") { page.include?("skep_nodes") }
  slow.write("rics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
  must("answer a slow one, too") { slow.read.include?("skep_nodes") }
  slow.close

  after = scrape
  must("have the helper it had") do
    pid_of(swarm, "helper") == helper && swarm.events.none? { |one| GONE.include?(one["event"]) }
  end
  must("cost the supervisor no descriptor") do
    after["skep_supervisor_descriptors"] == before["skep_supervisor_descriptors"]
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
