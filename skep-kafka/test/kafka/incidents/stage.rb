# frozen_string_literal: true

require "scenario/kafka/scenario"
require "kafka/incidents/history"
require "kafka/incidents/incident"
require "kafka/incidents/judgement"
require "kafka/incidents/load"
require "skep/control"

module Incidents
  # A swarm of three nodes under steady load, whose status is read five times per second.
  #
  #   stage = Stage.new(directory, broker, "hang1", swarm: { liveness_timeout: 12 })
  #   stage.play(incident)   # => Judgement
  #   stage.close
  #
  # broker: Broker or EmbeddedOne.
  class Stage
    INTERVAL = 0.2 # seconds between two looks at the status
    STEADY, KNOWN, MENDED = [60, 15, 20].map { |seconds| Patience.of(seconds) }
    SETTLING = 6.0 # seconds for which the status is read after the end
    SOURCE = File.read(File.expand_path("swarm.rb", __dir__))
    NAME = "incidents"

    class Broken < StandardError
    end

    attr_reader :broker, :swarm, :history, :load, :topic, :directory

    def initialize(directory, broker, topic, swarm: {}, source: {})
      @directory, @broker, @topic = directory, broker, topic
      @history = History.new
      @faults = {}
      @unanswered = 0
      broker.create_topic(topic, Load::PARTITIONS)
      write("faults", @faults)
      write("plan", swarm:, source: { **base, **source,
                                    kafka: { **base[:kafka], **source[:kafka].to_h } })
      @load = Load.new(broker.address, topic, directory)
      @swarm = Scenario::RunningSwarm.new(SOURCE, directory)
      @supervisor = Skep.pidfd(@swarm.pid)
    end

    # how: of Judgement.
    def play(incident, **how)
      began = known = mended = ended = nil
      begin
        steady
        watch
        follow_for(1.0)
        began = Skep::OS.now
        known = time_of(incident.plant.call(self))
        named(incident)
        mended = Skep::OS.now
        ended = time_of(incident.mend.call(self))
        gone(incident)
      rescue StandardError => e
        broken = "#{e.message} (#{e.class})"
      end
      stop_watching
      now = Skep::OS.now
      Judgement.new(incident, history, begun: began || now, known: known || now,
                                       mended: mended || now, ended: ended || now, broken:,
                                       exit_statuses: @exit_statuses.to_a.map(&:value), **how)
    end

    # Each node has handled messages of its own.
    def steady
      @load.start
      @swarm.await("node_ready", times: 3, seconds: 60)
      await("all nodes work", STEADY) { nodes.size == 3 && nodes.all? { |one|
  @load.by(one["pid"])
}
}
      await("no problem at the beginning", STEADY) { status["problems"].empty? }
    end

    def watch
      @watching = true
      @watcher = Thread.new { look while @watching }
      @watcher.report_on_exception = false
    end

    def stop_watching
      @watching = false
      @watcher&.value
      @watcher = nil
    end

    # name: of a fault; whom: the node or pid that it is about.
    def fault(name, whom = nil)
      write("faults", @faults = { **@faults, name => whom })
      Skep::OS.now
    end

    def no_fault(name)
      write("faults", @faults = @faults.except(name))
      Skep::OS.now
    end

    def no_faults
      write("faults", @faults = {})
      Skep::OS.now
    end

    def message(payload, partition: 2, key: "special") = @load.special(payload, partition, key)

    def status = client.status
    def nodes = status["nodes"].select { |node| node["state"] == "ready" }
    def node(id) = status["nodes"].find { |node| node["id"] == id }
    def pid(id) = node(id)["pid"]
    def mold = @swarm.events.reverse.find { |event| event["event"] == "mold_ready" }["pid"]

    # Waits for a helper that hasn't died; returns when it was ready.
    def helper_ready
      await("the helper is ready") { helper }
      event("node_ready") { |event| event["pid"] == helper }
    end

    # The pid of the helper that is ready; nil: there is none.
    def helper
      last = @swarm.events.reverse.find do |event|
        event["node"] == "helper" && %w[node_ready node_died].include?(event["event"])
      end
      last["pid"] if last && last["event"] == "node_ready"
    end

    def kill(pid, signal = :KILL) = @swarm.kill(pid, signal)

    # Runs a command of skep; nil if it succeeded, else what it said.
    def skep(*arguments)
      job = Thread.new { @swarm.skep(*arguments) }
      await("skep #{arguments.join(" ")}", 120) { job.join(0) }
      job.value
    end

    def skep!(*arguments)
      skep(*arguments)&.then { |error| raise Broken, "skep #{arguments.join(" ")}: #{error}" }
      Skep::OS.now
    end

    # The same, without waiting for its end.
    def begin_skep(*arguments) = @job = Thread.new { @swarm.skep(*arguments) }

    def end_skep
      await("the command's end", 120) { @job.join(0) }
      @job.value
    end

    def await(what, seconds = KNOWN)
      deadline = Skep::OS.now + seconds
      until (found = yield)
        alive or raise Broken, "the swarm has ended: #{@swarm.account}"
        Skep::OS.now < deadline or
          raise Broken, "not within #{seconds} s: #{what}; problems: #{told}; #{@swarm.account}"
        follow_for(0.1)
      end
      found
    end

    # Waits for the next event with this name; returns its time.
    def event(name, seconds = KNOWN, since: 0)
      found = await("an event #{name}", seconds) do
        @swarm.events.drop(since).find do |one|
          one["event"] == name && (!block_given? || yield(one))
        end
      end
      found["mono"]
    end

    def events = @swarm.events.size

    # Waits for a message to be handled in each of these partitions from now on; returns when the
    # last of them was.
    def handled(*partitions, since: Skep::OS.now, seconds: MENDED)
      await("messages are handled", seconds) do
        partitions.all? { |one| @load.last_in(one) > since }
      end
      partitions.map { |one| @load.last_in(one) }.max
    end

    def all_handled(**how) = handled(*(0...Load::PARTITIONS), **how)

    def follow_for(seconds)
      @swarm.follow_for(seconds)
      @load.read
    end

    # Where the swarm file has this comment or code.
    def self.line(text) = "swarm.rb:#{SOURCE.lines.index { |line| line.include?(text) } + 1}"

    def close
      @watching = false
      [@load, @swarm, @supervisor].compact.each(&:close)
    end

    private

    def base
      { kafka: { **@broker.settings, "statistics.interval.ms" => 1_000 }, group: @topic,
        topics: @topic, threads: 2, retry_backoff_max: 2 }
    end

    def client = @client ||= Skep::Control::Client.new(File.join(@directory, "#{NAME}.sock"))

    def alive = @supervisor.alive?
    def told = history.spans.reject(&:over).map(&:to_s)

    def write(name, facts)
      path = File.join(@directory, name)
      File.write("#{path}.new", JSON.generate(facts))
      File.rename("#{path}.new", path)
    end

    def look
      began = Skep::OS.now
      problems = Skep::Control::Client.new(File.join(@directory, "#{NAME}.sock")).status["problems"]
      @history.add(Skep::OS.now, problems)
      IO.select(nil, nil, nil, [began + INTERVAL - Skep::OS.now, 0].max)
    rescue Skep::Control::Unreachable, Skep::Control::CommandRefused
      @unanswered += 1
      IO.select(nil, nil, nil, INTERVAL)
    end

    def time_of(value) = value.is_a?(Float) ? value : Skep::OS.now

    # Until it is named by its cause, or can't be any more in time; then for as long as it lasts.
    def named(incident)
      deadline = Skep::OS.now + incident.known_after + KNOWN / 2
      if incident.kind
        follow_for(0.1) until named?(incident) || Skep::OS.now > deadline || !alive
        exit_status
      end
      follow_for(incident.lasts)
    end

    def named?(incident)
      history.spans.any? { |span| span.kind == incident.kind && span.seen_as(incident.cause) }
    end

    def gone(incident)
      deadline = Skep::OS.now + incident.gone_after + MENDED / 2
      return if incident.stays

      follow_for(0.2) until open_spans.empty? || Skep::OS.now > deadline || !alive
      follow_for(SETTLING)
      exit_status
    end

    def open_spans = history.spans.reject(&:over)

    # `status --exit-status` must follow what the same status says. The program may take long to
    # start, and what happens meanwhile mustn't wait for it.
    def exit_status = (@exit_statuses ||= []) << Thread.new { wrong_exit_status }

    def wrong_exit_status
      output, status = Open3.capture2({ "SKEP_RUN_DIR" => @directory }, RbConfig.ruby,
                                      Scenario::RunningSwarm::SKEP, "status", NAME, "--json",
                                      "--exit-status", err: File::NULL)
      plain = JSON.parse(output)
      bad = plain["crash_loop"] || plain["nodes"].none? { |node| node["state"] == "ready" } ||
            plain["problems"].any? { |one| one["level"] == "critical" }
      "--exit-status said #{status.exitstatus}" unless status.exitstatus == (bad ? 1 : 0)
    end
  end
end
