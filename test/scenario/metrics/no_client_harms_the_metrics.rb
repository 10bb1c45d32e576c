# frozen_string_literal: true

# Clients send garbage, 100 MB, or nothing, and are more than the helper has descriptors: valid
# requests are still answered, the helper stays the same process, and the supervisor is not
# affected.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "assailed", nodes: 1, metrics: "127.0.0.1:0" do |swarm|
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

  talk = lambda do |*texts, reads: true|
    TCPSocket.open(@host, @port) do |client|
      texts.each { |text| client.write(text) }
      reads ? client.read : ""
    end
  rescue Errno::EPIPE, Errno::ECONNRESET # the server may close the connection
    ""
  end
  random = Random.new(1)
  50.times { talk.call(random.bytes(2_000), reads: false) }
  must("answer garbage with 400") do
    talk.call("\0\0\0 / HTTP/9.9\r\n\r\n").include?(" 400 Bad Request")
  end
  piece = "x" * 1_000_000
  talk.call("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n",
            *[piece] * 100)
  talk.call("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            *["#{piece.size.to_s(16)}\r\n#{piece}\r\n"] * 100)
  talk.call("GET /#{piece}", *[piece] * 100)
  must("keep none of it in memory: from #{small} to #{resident.call}") do
    resident.call < small + 24_000_000
  end

  silent = Array.new(100) { TCPSocket.new(@host, @port) }
  silent.each { |client| client.write("GET /met") }
  slow = silent.pop
  silent.each(&:close)
  must("answer after silent clients disconnect") { page.include?("skep_nodes") }
  slow.write("rics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
  must("answer a slow client, too") { slow.read.include?("skep_nodes") }
  slow.close

  after = scrape
  must("keep its helper") do
    pid_of(swarm, "helper") == helper && swarm.events.none? { |one| GONE.include?(one["event"]) }
  end
  must("cost the supervisor no descriptor") do
    after["skep_supervisor_descriptors"] == before["skep_supervisor_descriptors"]
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
