# frozen_string_literal: true

require "kafka/incidents/incident"
require "kafka/incidents/stage"
require "kafka/incidents/stranger"

# The incidents of `rake incidents`, by name. What may follow from each, and from when it may be
# known, is what docs/guides/troubleshooting.md and docs/reference/status.md say.
module Incidents
  LIVENESS = 10.0
  HALF = LIVENESS / 2
  NO_CODE = { swarm: { liveness_timeout: LIVENESS } }.freeze
  LOOPING = { max_restarts: 2, restart_window: 6 }.freeze
  DOWN = 2.0 # seconds without a process before it is a problem
  UNKNOWN = 15.0 # seconds of an unknown lag
  private_constant :LIVENESS, :HALF, :NO_CODE, :LOOPING, :DOWN, :UNKNOWN

  class << self
    def all
      @all ||= [*messages, *hangs, *processes, *changes, *brokers].to_h { |it| [it.name, it] }
    end

    # Returns the incidents with these names, "all" or some joined by "+".
    def named(names)
      chosen = names == "all" ? all.keys : names.split("+")
      unknown = chosen - all.keys
      if unknown.any?
        raise ArgumentError, "no incident #{unknown.join(", ")}: #{all.keys.join(", ")}"
      end

      all.values_at(*chosen)
    end

    private

    def incident(name, kind, **facts) = Incident.new(name:, kind:, **facts)

    def messages
      line = Stage.line("# a bad message")
      fixed = lambda do |stage|
        stage.fault("fixed")
        stage.handled(2)
      end
      [
        incident("bad_message", "partition_failing",
                 cause: { subject: %r{/2\z}, at: line, text: /\(bad message\): .*bad order/ },
                 lasts: 4.0, plant: ->(stage) { failed(stage) }, mend: fixed),
        incident("dead_letter", "partition_failing",
                 cause: { subject: %r{/2\z}, at: line }, lasts: 0.0,
                 source: { max_attempts: 5, dead_letter_topic: "incidents.dead" },
                 plant: ->(stage) { failed(stage) },
                 mend: ->(stage) { stage.event("dead_lettered", 60) }),
        incident("dead_letter_refused", "dead_letter_not_written", real: true,
                 cause: { subject: %r{/2\z}, text: /larger|size|large/i, level: "critical" },
                 also: { "partition_failing" => 0 },
                 source: { max_attempts: 2, dead_letter_topic: "small.dead" },
                 plant: lambda do |stage|
                   stage.broker.small_topic("small.dead")
                   stage.message("large#{"e" * 4_000}")
                   stage.event("handler_failed", 60) { |one| one["error"].include?("Delivery") }
                 end,
                 mend: lambda do |stage|
                   stage.broker.small_topic("small.dead", bytes: 1_000_000)
                   stage.event("dead_lettered", 90)
                 end),
        incident("held", "partition_held",
                 cause: { subject: %r{/2\z}, at: line, text: /bad order/, level: "critical" },
                 also: { "rollout" => 0, "partition_failing" => 0 },
                 source: { on_error: "pause" },
                 plant: ->(stage) { failed(stage) },
                 mend: lambda do |stage|
                   stage.fault("fixed")
                   stage.skep!("reload")
                 end),
        incident("blocked", "partition_blocked",
                 cause: { subject: %r{/2\z}, at: line, level: "critical" },
                 also: { "partition_failing" => 0 },
                 source: { ordered_by: "key", max_out_of_order: 30 },
                 plant: ->(stage) { stage.message("bad") && stage.event("kafka_backpressure", 60) },
                 mend: fixed),
        incident("stalled", "partition_stalled", known_after: 4.0,
                 cause: { subject: %r{/2\z} }, lasts: 0.0, source: { stall_timeout: 8 },
                 plant: ->(stage) { stage.message("stall") },
                 mend: lambda do |stage|
                   stage.event("kafka_stalled", 40)
                   stage.handled(2)
                 end),
        incident("paused", "partition_paused", lasts: 0.0,
                 cause: { subject: %r{/2\z}, level: "info" },
                 plant: lambda do |stage|
                   stage.message("pause")
                   stage.event("kafka_paused").tap { stage.fault("fixed") }
                 end,
                 mend: ->(stage) { stage.handled(2, since: stage.event("kafka_paused") + 8) }),
        incident("clocks", "clocks_apart", cause: { text: /42.0 s/ }, gone_after: 60.0, lasts: 0.0,
                 plant: ->(stage) { stage.message("clock") }),
        incident("poison", "suspect", cause: { subject: %r{/2} },
                 also: { "no_progress" => 0 }, lasts: 0.0, flickers: true,
                 source: { on_poison: "skip" },
                 plant: ->(stage) { stage.message("poison") },
                 mend: ->(stage) { stage.event("message_quarantined", 90) })
      ]
    end

    def hangs
      line = Stage.line("def pause")
      item = %r{/\d/\d+.* at \d+}
      hang = ->(stage) { stage.fault("hang", 1) }
      [
        incident("hang", "no_progress", known_after: HALF, **NO_CODE, lasts: 1.0, flickers: true,
                 cause: { subject: "node 1", at: line, text: item },
                 plant: hang, mend: ->(stage) { stage.no_fault("hang") }),
        incident("hang_to_death", "hung", known_after: LIVENESS, **NO_CODE, lasts: 0.0,
                 cause: { subject: "node 1", level: "critical" },
                 also: { "no_progress" => 0, "suspect" => 10 },
                 plant: hang,
                 mend: lambda do |stage|
                   stage.no_fault("hang") if stage.event("node_hung", 60)
                   stage.all_handled
                 end),
        incident("hang_in_c", "no_progress", known_after: HALF, lasts: 0.0, flickers: true,
                 swarm: { liveness_timeout: LIVENESS, kill_timeout: 1 },
                 cause: { subject: "node 1", at: nil, text: item },
                 also: { "hung" => 0, "suspect" => 10 },
                 plant: ->(stage) { stage.fault("hang_in_c", stage.pid(1)) },
                 mend: lambda do |stage|
                   stage.event("node_died", 60)
                 end),
        incident("stopped_node", "no_progress", known_after: HALF, **NO_CODE, lasts: 1.0,
                 flickers: true, cause: { subject: "node 1", at: nil },
                 plant: lambda do |stage|
                   stage.kill(@pid = stage.pid(1), :STOP)
                 end,
                 mend: ->(stage) { stage.kill(@pid, :CONT) }),
        incident("sick", "unhealthy", cause: { subject: "node 1", text: /no disk/ },
                 plant: ->(stage) { stage.fault("sick", 1) },
                 mend: ->(stage) { stage.no_fault("sick") })
      ]
    end

    def processes
      [
        incident("killed_node", nil, lasts: 8.0,
                 plant: ->(stage) { stage.kill(stage.pid(1)) }),
        incident("boot_loop", "crash_loop", gone_after: 6.0, swarm: LOOPING,
                 cause: { subject: "node 1", at: Stage.line("# fails at boot"), level: "critical",
                          text: /no configuration/ },
                 also: { "lag_unknown" => 0, "waiting" => 0, "suspect" => 15 },
                 plant: lambda do |stage|
                   stage.fault("bad_boot", 1)
                   stage.kill(stage.pid(1))
                   deaths(stage)
                 end,
                 mend: ->(stage) { ready_again(stage, "bad_boot") }),
        incident("crash_loop", "crash_loop", gone_after: 6.0, swarm: LOOPING,
                 cause: { subject: "node 1", text: /SIGKILL/ },
                 also: { "lag_unknown" => 0, "waiting" => 0, "suspect" => 15 },
                 plant: lambda do |stage|
                   stage.fault("crash", 1)
                   deaths(stage)
                 end,
                 mend: ->(stage) { ready_again(stage, "crash") }),
        incident("helper_loop", "crash_loop", gone_after: 6.0, swarm: LOOPING, lasts: 0.0,
                 cause: { subject: "helper", level: "warning" },
                 plant: ->(stage) { 3.times { kill_helper(stage) } },
                 mend: ->(stage) { stage.helper_ready }),
        incident("all_crash", "no_node_ready", known_after: DOWN, swarm: LOOPING, lasts: 6.0,
                 cause: { subject: /work/, level: "critical" },
                 also: { "crash_loop" => 15, "lag_unknown" => 5, "waiting" => 0, "suspect" => 30 },
                 plant: lambda do |stage|
                   stage.fault("bad_boot")
                   stage.nodes.each { |node| stage.kill(node["pid"]) }
                 end,
                 mend: ->(stage) { ready_again(stage, "bad_boot") }),
        incident("slow_boots", "no_node_ready", known_after: DOWN,
                 also: { "waiting" => 0, "suspect" => 30 }, # of messages in flight at the kill
                 cause: { subject: /work/, level: "critical" },
                 plant: lambda do |stage|
                   stage.fault("slow_boot")
                   stage.nodes.each { |node| stage.kill(node["pid"]) }
                 end,
                 mend: ->(stage) { ready_again(stage, "slow_boot") }),
        incident("dead_mold", "waiting", known_after: DOWN, cause: { subject: "node 1" },
                 also: { "suspect" => 15 },
                 plant: ->(stage) { without_mold(stage) },
                 mend: ->(stage) { ready_again(stage, "slow_load") }),
        incident("lag_unknown", "lag_unknown", known_after: UNKNOWN,
                 cause: { subject: /\Agroup / }, also: { "waiting" => 0, "suspect" => 15 },
                 source: { kafka: { "session.timeout.ms" => 60_000 } },
                 plant: ->(stage) { without_mold(stage) },
                 mend: ->(stage) { ready_again(stage, "slow_load") }),
        # Other nodes have taken over its partitions: their lag is known.
        incident("partitions_taken_over", "waiting", known_after: DOWN, lasts: 25.0,
                 cause: { subject: "node 1" }, also: { "suspect" => 15 },
                 plant: ->(stage) { without_mold(stage) },
                 mend: ->(stage) { ready_again(stage, "slow_load") }),
        incident("ended", "ended", cause: { subject: "node 1", text: /exit status 7/ }, stays: true,
                 swarm: { never_restart_on: 7 }, lasts: 25.0,
                 plant: ->(stage) { stage.fault("leave", 1) }),
        incident("ill", "unfit", cause: { subject: "node 1", text: /no rate/ }, lasts: 0.0,
                 also: { "partition_failing" => 0 },
                 plant: ->(stage) { stage.fault("ill", stage.pid(1)) },
                 mend: ->(stage) { stage.event("node_exited", 60) }),
        incident("grown", "over_memory", lasts: 0.0, known_after: 15.0,
                 cause: { subject: "node 1", text: /memory_limit/ },
                 swarm: { memory_limit: "50M" },
                 plant: ->(stage) { grow(stage) },
                 mend: lambda do |stage|
                   stage.no_fault("slow_boot")
                   stage.event("node_exited", 60)
                 end),
        incident("over_budget", "over_memory", lasts: 0.0, known_after: 15.0,
                 cause: { subject: /node 1|swarm/, text: /memory_budget/ },
                 swarm: { memory_budget: "110M" },
                 plant: ->(stage) {
  stage.follow_for(11) || grow(stage)
}, # growth counts after 10 s
                 mend: lambda do |stage|
                   stage.no_fault("slow_boot")
                   stage.event("node_exited", 60)
                 end),
        incident("away", "dependency_away", lasts: 5.0, known_after: 1.5,
                 cause: { at: Stage.line("# the dependency fails"), level: "critical",
                          text: /IOError: no database/ },
                 also: { "partition_failing" => 0 },
                 plant: ->(stage) { stage.fault("away") },
                 mend: ->(stage) { mended(stage, "away") }),
        incident("half_away", "dependency_away", lasts: 4.0, known_after: 3.0,
                 cause: { level: "warning", text: /half of the database/ },
                 also: { "partition_failing" => 0 },
                 source: { ordered_by: "key" },
                 plant: ->(stage) { stage.fault("half_away") },
                 mend: ->(stage) { mended(stage, "half_away") }),
        incident("silent", "no_progress", known_after: HALF, **NO_CODE, lasts: 2.0, flickers: true,
                 cause: { at: Stage.line("def pause") },
                 plant: ->(stage) { stage.fault("silent") },
                 mend: ->(stage) { mended(stage, "silent") })
      ]
    end

    def changes
      [
        incident("bad_reload", "rollout_failed",
                 cause: { subject: "reload", text: /no configuration/ },
                 also: { "rollout" => 0 },
                 plant: ->(stage) { failed_reload(stage) { stage.fault("bad_boot") } },
                 mend: ->(stage) { stage.no_faults && stage.skep!("reload") }),
        incident("bad_load", "rollout_failed", cause: { subject: "reload", text: /no such table/ },
                 also: { "rollout" => 0 },
                 plant: ->(stage) { failed_reload(stage) { stage.fault("bad_load") } },
                 mend: ->(stage) { stage.no_faults && stage.skep!("reload") }),
        incident("syntax_error", "rollout_failed", cause: { subject: "reload", text: /syntax/i },
                 also: { "rollout" => 0 },
                 plant: lambda do |stage|
                   failed_reload(stage) {
  File.write("#{stage.directory}/swarm.rb", "Skep.swarm(\n")
}
                 end,
                 mend: lambda do |stage|
                   File.write("#{stage.directory}/swarm.rb", Stage::SOURCE)
                   stage.skep!("reload")
                 end),
        incident("slow_reload", "rollout", cause: { subject: "reload", level: "info" }, lasts: 8.0,
                 plant: lambda do |stage|
                   stage.fault("slow_boot")
                   stage.begin_skep("reload")
                   stage.event("reload_started")
                 end,
                 mend: lambda do |stage|
                   stage.no_faults
                   stage.end_skep
                 end),
        incident("quiet_swarm", "quiet", cause: { subject: "swarm", level: "info" }, lasts: 12.0,
                 plant: ->(stage) { stage.skep!("quiet") },
                 mend: ->(stage) { stage.skep!("resume") }),
        incident("restarted", "rollout", cause: { subject: "restart" }, lasts: 0.0,
                 plant: ->(stage) { stage.begin_skep("restart") && stage.event("restart_started") },
                 mend: ->(stage) { stage.end_skep }),
        incident("scaled", nil, lasts: 6.0, plant: ->(stage) { stage.skep!("scale", "1") },
                 mend: ->(stage) { stage.skep!("scale", "3") })
      ]
    end

    def brokers
      [
        incident("dead_broker", "broker_unreachable", known_after: 3.0, lasts: 6.0,
                 cause: { subject: /\Agroup /, level: "critical" }, also: { "lag_unknown" => 5 },
                 plant: ->(stage) { stage.broker.kill },
                 mend: ->(stage) { stage.broker.start && stage.all_handled }),
        incident("silent_broker", "broker_unreachable", known_after: 13.0, lasts: 4.0,
                 cause: { subject: /\Agroup /, level: "critical" }, also: { "lag_unknown" => 5 },
                 plant: ->(stage) { stage.broker.signal(:STOP) },
                 mend: ->(stage) { stage.broker.signal(:CONT) && stage.all_handled }),
        incident("stuck_rebalance", "no_assignment", known_after: 30.0, lasts: 3.0, real: true,
                 cause: { subject: /\Agroup /, level: "critical" },
                 plant: lambda do |stage|
                   @stranger = Stranger.new(stage.broker.address, stage.topic)
                   stage.await("the other member's partitions") { @stranger.assigned? }
                   @stranger.stop
                   before = stage.events
                   stage.skep!("scale", "4")
                   (0..2).map do |id|
                     stage.event("node_unassigned", 60, since: before) { |one| one["node"] == id }
                   end.max
                 end,
                 mend: ->(stage) { @stranger.close || stage.all_handled })
      ]
    end

    # Returns when the bad message failed first: there may be others before it.
    def failed(stage) = stage.message("bad") && stage.event("handler_failed", 60)

    # Returns when the node died for the third time.
    def deaths(stage)
      stage.event("node_waiting", 60) { |event| event["node"] == 1 }
    end

    def ready_again(stage, fault)
      before = stage.events
      stage.no_fault(fault)
      stage.event("node_ready", 120, since: before) { |event| event["node"] == 1 }
    end

    def kill_helper(stage)
      stage.helper_ready
      stage.kill(pid = stage.helper)
      stage.event("node_died") { |event| event["pid"] == pid }
    end

    def without_mold(stage)
      stage.fault("slow_load")
      stage.kill(stage.mold)
      stage.event("mold_died")
      stage.kill(stage.pid(1))
    end

    def grow(stage)
      stage.fault("slow_boot")
      stage.fault("grow", stage.pid(1))
    end

    def mended(stage, fault)
      stage.no_fault(fault)
      stage.all_handled
    end

    def failed_reload(stage)
      yield
      raise Stage::Broken, "the reload succeeded" unless stage.skep("reload")
    end
  end
end
