# frozen_string_literal: true

require "scenario/scenario"
require "skep/kafka"
require "kafka/verdicts/dependency"
require "kafka/verdicts/observation"
require "kafka/verdicts/outages"
require "kafka/verdicts/stream"
require "fileutils"

module Verdicts
  # One swarm, in which faults are planted one after another. The swarm's processes are real, and so
  # are their ends.
  #
  #   Life.new(plan, directory, broker).run { |observation, events| … }
  #
  # broker: the address of one that runs; nil: it starts an embedded one.
  class Life
    LIVENESS = 3.0 # seconds of liveness_timeout
    # Seconds that a loaded machine has. None of them is a limit of what is right.
    STEADY, VERDICT, BACK, DONE = [60, 60, 30, 60].map { |seconds| Patience.of(seconds) }
    TRIES = 6 # of a message that is retried for ever, until it has been watched for long enough
    BEHIND = 10 # messages of a partition that may be in progress when a bad one is chosen
    EVERY = 200 # messages, of which one is bad
    CONDEMNED = %w[dead_lettered message_quarantined].freeze
    UNFIT = %w[unfit another_process].freeze # reasons to replace a node
    UNFIT_SECONDS = 20 # as of NodePool

    class Broken < StandardError
    end

    def initialize(plan, directory, broker, ends_at: nil)
      @plan, @directory, @bootstrap, @ends_at = plan, directory, broker, ends_at
      @options = plan.options
      @topic = "verdicts#{plan.seed}"
    end

    def run(&)
      set_up
      @plan.faults.each.with_index(1) do |fault, number|
        break if @ends_at && Skep::OS.now > @ends_at

        broken = observe(fault, number, &)
        break if broken # what it left behind would be the next fault's
      end
    ensure
      close
    end

    private

    # Returns true if the swarm isn't well afterwards.
    def observe(fault, number)
      @from = @swarm.events.size
      @bad, @lost, @ill, @unreported, broken = [], [], nil, nil, nil
      @earlier = condemned(0)
      begin
        steady
        plant(fault)
        seconds = watch(fault)
        back_after = heal(fault)
        settle
        await(BACK) { outages.open.empty? } if fault.cause == :dependency
      rescue Broken, Scenario::Failed => e
        broken = e.message
      end
      events = @swarm.events.drop(@from)
      seen = Observation.new(fault:, options: @options, seed: @plan.seed, number:, bad: @bad,
                             condemned: condemned(@from) - @earlier, lost: @lost,
                             wrong_outages: wrong_outages(fault),
                             seconds:, back_after:,
                             replaced: events.count { |event| gone?(event) }, broken:,
                             unfit: pids(events, "kafka_process_unfit"), ill: @ill,
                             planted_at: @planted_at, healed_at: @healed_at)
      yield seen, events
      broken || seen.lost.any?
    end

    def set_up
      FileUtils.chmod(0o755, @directory)
      unless @bootstrap
        topics = { @topic => Stream::PARTITIONS, dead => 1 }
        @broker = Skep::Kafka::EmbeddedBroker.start(topics:)
        @bootstrap = @broker.bootstrap_servers
      end
      @dependency = Dependency.start(slow: LIVENESS * 1.5)
      @stream = Stream.new(@bootstrap, @topic, File.join(@directory, "done"))
      @stream.create_topic unless @broker
      write_fault({})
      @swarm = Scenario::RunningSwarm.new(source, @directory)
      @supervisor = Skep.pidfd(@swarm.pid)
    end

    def dead = "#{@topic}.dead"

    def close
      [@swarm, @supervisor, @stream, @dependency].compact.each(&:close)
      @broker&.stop
    end

    def source
      application = { directory: @directory, ports: @dependency.ports, threads: @options[:threads] }
      <<~RUBY
        require "skep/kafka"
        require #{File.expand_path("../../../../test/load_path", __dir__).inspect}
        require "kafka/verdicts/application"
        Process.setrlimit(:CORE, 0)
        application = Verdicts::Application.new(**#{application.inspect})
        source = Skep::Kafka::Source.new(**#{source_options.inspect})
        Skep.swarm("verdicts", nodes: #{@options[:nodes]}, liveness_timeout: #{LIVENESS},
                               kill_timeout: 0.5, max_restarts: 10_000) do |swarm|
          swarm.work(source) do |batch|
            batch.each do |message|
              application.handle(message)
              #{"batch.mark(message)" if @options[:marks]}
            end
          end
        end
      RUBY
    end

    def source_options
      settings = @broker ? @broker.settings : { "bootstrap.servers" => @bootstrap }
      { kafka: { **settings, "auto.offset.reset" => "earliest" }, group: @topic, topics: @topic,
        threads: @options[:threads], max_messages: @options[:max_messages],
        ordered_by: @options[:ordered_by].to_sym, retry_for: @options[:retry_for], **fates }
    end

    def fates
      return { on_poison: @options[:on_poison].to_sym } unless @options[:dead_letters]

      { dead_letter_topic: dead, max_attempts: @options[:max_attempts] }
    end

    # Waits until the block returns true, while the stream goes on; false after so many seconds.
    def await(seconds)
      deadline = Skep::OS.now + seconds
      loop do
        @stream.pump
        return true if yield
        return false if Skep::OS.now > deadline
        next if @swarm.read(Skep::OS.now + 0.05)
        raise Broken, "the swarm has ended: #{@swarm.account}" unless @supervisor.alive?
      end
    end

    # Each node works, and may be replaced. (If a slot's next process failed at once with the same
    # messages as the one that was ill, these might be bad.)
    def steady
      since = [Skep::OS.now, unfit_at + UNFIT_SECONDS].max
      await(STEADY) do
        pids = ready
        pids.size == @options[:nodes] && pids.all? { |pid| @stream.last_by(pid) > since }
      end or raise Broken, "not all nodes work before the fault: #{@swarm.account}"
    end

    # When a node was replaced last since its messages failed.
    def unfit_at
      @swarm.events.filter_map do |event|
        event["mono"] if event["event"] == "node_replacing" && UNFIT.include?(event["reason"])
      end.last.to_f
    end

    def ready
      @seen ||= 0
      @ready ||= []
      @swarm.events.drop(@seen).each do |event|
        @ready |= [event["pid"]] if event["event"] == "node_ready"
        @ready -= [event["pid"]] if gone?(event)
      end
      @seen = @swarm.events.size
      @ready
    end

    def pids(events, name)
      events.filter_map { |event| event["pid"] if event["event"] == name }
    end

    def gone?(event) = GONE.include?(event["event"])

    def plant(fault)
      @planted_at = Skep::OS.now
      case fault.cause
      when :message then write_fault("kind" => fault.kind, "bad" => @bad = choose(fault))
      when :process
        @ill = ready[fault.node % ready.size]
        write_fault("kind" => fault.kind, "pid" => @ill)
      when :dependency
        write_fault("sharded" => fault.sharded)
        @dependency.hosts = fault.hosts
      end
    end

    # One message in EVERY, each in another partition: a partition may be held at the first of them.
    def choose(fault)
      random = Random.new(@plan.seed + fault.node)
      partitions = (0...Stream::PARTITIONS).to_a.sample(fault.count, random:)
      partitions.map.with_index do |partition, index|
        nth = random.rand((EVERY * index)...(EVERY * (index + 1))) / Stream::PARTITIONS
        @stream.ahead(partition, BEHIND + nth)
      end
    end

    def write_fault(facts)
      path = File.join(@directory, "fault")
      File.write("#{path}.new", JSON.generate(facts))
      File.rename("#{path}.new", path)
    end

    # Of the whole dependency an outage is reported and shown; a hang may hide others.
    def wrong_outages(fault)
      lasting = outages.open.map { |pid| "#{pid} reports no end" } if fault.cause == :dependency
      [*@unreported, *outages.wrong, *lasting]
    end

    def outages = Outages.new(@swarm.events.drop(@from))

    # Returns true if the status shows an outage that a node has reported.
    def outage_shown?
      return false if outages.open.empty?

      @swarm.status("verdicts")["problems"].any? do |problem|
        problem.values_at("kind", "level") == %w[dependency_away critical]
      end
    rescue Skep::Control::Unreachable # it is slow
      false
    end

    # Returns the seconds until the verdict; nil if there was none.
    def watch(fault)
      found =
        case fault.cause
        when :message then await(VERDICT * (fault.ends_nodes? ? 2 : 1)) { judged?(fault) }
        when :process then await(VERDICT / 2) { !ready.include?(@ill) }
        when :dependency
          await(fault.seconds) { false }
          shown = fault.kind != "refuses" || await(VERDICT) { outage_shown? }
          @unreported = "no status shows the outage" unless shown
          nil
        end
      Skep::OS.now - @planted_at if found
    end

    def judged?(fault)
      return (@bad - condemned(@from, %w[dead_lettered])).empty? if @options[:dead_letters]
      return (@bad - condemned(@from)).empty? if fault.ends_nodes?

      @bad.all? { |id| @stream.tries(id) >= TRIES }
    end

    # Returns the messages that one of these events from that one on is about.
    def condemned(from, names = CONDEMNED)
      @swarm.events.drop(from).filter_map do |event|
        next unless names.include?(event["event"]) && event["topic"] == @topic

        @stream.id(event["partition"], event["offset"])
      end.uniq
    end

    # Returns the seconds from the fault's end until a message was handled.
    def heal(fault)
      write_fault({})
      @dependency.hosts = %w[answer] * 4 if fault.cause == :dependency
      @swarm.kill(@ill) if fault.cause == :process && ready.include?(@ill)
      @swarm.signal(:HUP) if paused? # a paused partition continues with new code
      since = @healed_at = Skep::OS.now
      await(BACK) { @stream.last_at.to_f > since } or return
      @stream.last_at - since
    end

    # Returns true if a partition was paused since the last fault.
    def paused?
      @swarm.events.drop(@from).any? do |event|
        event["event"] == "message_quarantined" && event["verdict"] == "pause"
      end
    end

    # Waits until all messages that are begun now are done, as long as they become fewer: a later
    # verdict would count for the next fault.
    def settle
      limit = @stream.highest
      loop do
        @lost = @stream.gaps(limit, except: condemned(0))
        return if @lost.empty?

        await(DONE) { @stream.gaps(limit, except: condemned(0)).size < @lost.size } or return
      end
    end
  end
end
