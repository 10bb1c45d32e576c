# frozen_string_literal: true

# `skep events` shows what happened before it was started, as the log has it. While nodes are killed
# one after the other, --follow shows each event once, the past and what comes after it, until the
# swarm ends or an INT. The supervisor keeps the last thousand events only, however many there were.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "told", nodes: 3 do |swarm|
    swarm.work do |node|
      node.ready!
      node.event(:many, note: "x" * 1_000) until node.wait(0.01)
    end
  end
RUBY
KILLS = 40

# A `skep events --follow --json` in the background.
def follow(swarm, output)
  pid = Process.spawn({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby, swarm.class::SKEP,
                      "events", "--follow", "--json", out: output, pgroup: true)
  Skep.pidfd(pid).tap { |pidfd| at_end { Scenario.kill(pidfd).then { pidfd.close } } }
end

def told(path) = File.readlines(path).grep(/\n\z/).map { |line| JSON.parse(line) }

Scenario.play do
  swarm = run_swarm(IDLE)
  pids = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
  swarm.kill(pids.first)
  swarm.await("node_ready")
  out = swarm.output_of("events")
  must("show the death that was before: #{out}") do
    out.match?(/^\S+Z WARN  node_died swarm=idle node=\d .*pid=#{pids.first} signal=KILL/)
  end
  swarm.follow("the log has what the command shows") { swarm.events.size >= out.lines.size }
  names = swarm.events.map { |event| event["event"] }
  shown = out.lines.map { |line| line.split[2] }
  must("show the log's events in their order: #{shown}") { shown == names.first(shown.size) }
  must("show warnings only") do
    swarm.output_of("events", "--level", "warn").lines.map { |line| line.split[1] }.uniq == %w[WARN]
  end
  must("show nothing that is older than --since") do
    swarm.output_of("events", "--since", "0s") == ""
  end
  must("show all since two hours ago") do
    swarm.output_of("events", "--since", "2h").lines.size >= shown.size
  end

  path = "#{directory}/followed"
  follower = nil
  KILLS.times do |number|
    follower = follow(swarm, path) if number == KILLS / 2
    swarm.kill(swarm.status("idle")["nodes"].filter_map { |node| node["pid"] }.first)
    swarm.await("node_ready")
  end
  second = "#{directory}/interrupted"
  other = follow(swarm, second)
  swarm.follow("the second follower has begun") { told(second).any? }
  other.signal(:INT)
  status = other.wait(timeout: Patience.of(Scenario::SECONDS))
  must("end with 0 at INT, not #{status}") { status&.exitstatus == 0 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  status = follower.wait(timeout: Patience.of(Scenario::SECONDS))
  must("end with the swarm, with 0, not #{status}") { status&.exitstatus == 0 }

  keys = %w[event node pid signal]
  all = swarm.events.map { |event| event.values_at(*keys) }
  followed = told(path)
  must("follow without a gap or a repetition: #{all.size} events, #{followed.size} shown") do
    followed.map { |event| event.values_at(*keys) } == all
  end

  swarm = run_swarm(SOURCE)
  swarm.await("many", times: 1_500, seconds: 120)
  lines = swarm.output_of("events").lines
  must("keep no more than 1000 events, not #{lines.size}") { lines.size.between?(100, 1_001) }
  must("say how many are missing: #{lines.first}") do
    lines.first.match?(/\Askep: \d+ events missing$/)
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
