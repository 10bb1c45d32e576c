# frozen_string_literal: true

# Four nodes report the facts of 9,000 partitions each second, and metrics and status are asked for
# all the time: /healthz and /readyz are answered within 0.1 s nevertheless.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "wide", nodes: 4, metrics: "127.0.0.1:0" do |swarm|
      swarm.work do |node|
        node.ready!
        turn = 0
        until node.stopping?
          rows = Array.new(2_250) do |number|
            { topic: "orders", partition: (4 * number) + node.id, held: true, position: turn,
              end: turn + 1_000, lag: 1_000, rate: 72.1, messages: turn, batches: turn, retries: 0,
              failures: 0, dead_letters: 0, skipped: 0, filtered: 0, stalls: 0, rebalances: 1,
              handler: { count: 29, sum: 3.706016771, p50: 0.115, p99: 0.185,
                         buckets: [[0.11, 11], [0.12, 5], [0.13, 5], [0.14, 2], [0.17, 1]] } }
          end
          node.work = { kind: "kafka", group: "billing", lag: 2_250_000, lag_unknown: 0, rate: 1.0,
                        partitions: rows }
          node.wait(1)
          turn += 1
        end
      end
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 5)
  swarm.follow("the facts of all nodes have come") do
    swarm.status("wide")["nodes"].all? { |node| node["work"]["partitions"]&.size == 2_250 }
  end

  # Clients that ask for the whole status all the time, without a pause.
  command = [RbConfig.ruby, "-e", <<~RUBY, "#{swarm.directory}/wide.sock", @host, @port]
    require "socket"
    path, *address = ARGV
    metrics = lambda do
      TCPSocket.open(*address) { |io| io.write("GET /metrics HTTP/1.0\r\n\r\n").then { io.read } }
    end
    Thread.report_on_exception = false # at the end
    Thread.new { loop(&metrics) }
    loop { UNIXSocket.open(path) { |io| io.puts('{"v":1,"command":"status"}').then { io.read } } }
  RUBY
  load = Skep.pidfd(Process.spawn(*command, err: File::NULL))
  at_end { Scenario.kill(load) }
  asked = 0
  seconds = probe("/healthz", [200, "swarm wide is running\n"]) do
    must("be ready") { get("/readyz?nodes=all") == [200, "ready\n"] }
    (asked += 1) > 100
  end
  puts "/healthz: median #{seconds[50].round(4)} s, slowest #{seconds.last.round(3)} s"
  must("answer within 0.1 s: #{seconds.last(5)}") { seconds[50] < Patience.of(0.1) / 3 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
