# frozen_string_literal: true

# A node sends odd events, too many events, wrong values and garbage, and crashes with binary text
# in flight: all of that affects this node only.
# metrics/status_and_probes_answer_whatever_nodes_send tests more of it.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~'RUBY')
    BUCKETS = [[0, 2]]
    WRONG = [nil, 3, [1], true, "x", { totals: 3 }, { totals: { a: 1.7e308 } }, { totals: { a: nil } },
             { handler: { count: 3, sum: 0.5, buckets: BUCKETS } },
             { handler: { count: 2, sum: 0.5, buckets: [[1e300, 2]] } },
             { deep: 200.times.reduce(1) { |held, _| [held] } }]

    # Returns nil if ArgumentError is raised at the caller's line.
    def refused
      yield
      "nothing was raised"
    rescue ArgumentError => e
      e.backtrace.first[/\A#{Regexp.escape(__FILE__)}:/] ? nil : e.backtrace.first
    end

    Skep.swarm "odd", nodes: 2, max_restarts: 100 do |swarm|
      swarm.work do |node|
        node.in_flight("http://" + "é" * 300)
        node.event(:odd, nan: Float::NAN, bytes: "\xFF", utf16: "é".encode("UTF-16LE"))
        wrong = WRONG.map { |facts| refused { node.work = facts } }
        wrong << refused { node.event(:odd, level: :loud) } << refused { node.event(nil) }
        wrong << refused { node.event(:huge, text: Array.new(2_000) { "x" * 16_000 }) }
        wrong << refused { node.processed(-1) } << refused { node.unhealthy!(nil) }
        node.event(:refused, wrong: wrong.compact)
        node.work = { deep: 20.times.reduce(1) { |held, _| [held] }, totals: { sent: 1 } }
        300.times { |i| node.event(:many, i:) }
        node.ready!
        node.wait(0.2)
        once = ->(name) { !File.exist?("#{__dir__}/#{name}") && File.write("#{__dir__}/#{name}", "") }
        if node.id == 1
          if once["garbage"]
            open = ObjectSpace.each_object(BasicSocket).reject(&:closed?)
            open.each { |socket| socket.write("garbage that is no frame") }
          elsif once["raise"]
            raise "é".encode("UTF-16LE")
          elsif once["binary"]
            node.in_flight("\xff\xfe job".b)
            Process.kill(:KILL, Process.pid)
          end
        end
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  odd = swarm.await("odd")
  must("publish odd facts: #{odd}") do
    odd.values_at("nan", "bytes", "utf16") == ["NaN", "\uFFFD", "é"]
  end
  wrong = swarm.await("refused")["wrong"]
  must("raise ArgumentError at the caller's line, not #{wrong}") { wrong == [] }
  must("report the node that sends garbage") { swarm.await("node_protocol_error")["node"] == 1 }
  must("replace that node") do
    swarm.await(GONE).values_at("node", "reason") == [1, "protocol_error"]
  end
  failed = swarm.await("node_failed")
  must("report an error in another encoding: #{failed}") do
    failed["error"] == "RuntimeError: é"
  end
  swarm.await("work_isolated") { |one| one["in_flight"] == ["\uFFFD\uFFFD job"] }
  swarm.await("node_ready")
  status = swarm.status("odd")
  must("add up the valid totals in the status: #{status["works"]}") do
    status["nodes"].size == 2 && status["works"].first["totals"]["sent"] >= 4
  end
  must("show what was in flight: #{status["suspects"]}") do
    status["suspects"].any? { |one| one["in_flight"] == "\uFFFD\uFFFD job" }
  end
  ours = %w[supervisor_error mold_protocol_error mold_died]
  bugs = swarm.events.select { |one| ours.include?(one["event"]) }
  must("have no error of its own: #{bugs.first}") { bugs.empty? }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
