# frozen_string_literal: true

require "kafka/fuzz/run"
require "kafka/verdicts/observation"
require "kafka/verdicts/plan"
require "kafka/verdicts/simulated_process"

module Verdicts
  # A Life whose processes are simulated, on a clock that jumps: hundreds of faults a minute. It has
  # those faults that end no process. What no plan says is drawn: how long a message takes, how long
  # a failure, and how much of a process is ill.
  #
  #   SimulatedLife.new(plan).run { |observation| … }
  class SimulatedLife
    PARTITIONS, WAITING, KEYS = 6, 500, 50 # as of Stream
    BATCH = 2.0 # seconds without a mark, at most: until then nobody knows how it goes
    TICK = 0.05 # seconds, at the end of which messages arrive
    VERDICT, DONE = 120.0, 120.0 # seconds
    TRIES, BEHIND, EVERY = 6, 10, 200 # as of Life
    REPLACED, SUCCESSOR = 0.3, 0.5 # seconds until a process has ended, and until the next works
    UNFIT_SECONDS = 20 # as of NodePool
    KINDS = %w[raises no_descriptors no_threads drained_pool poisoned_cache refuses slow half_gone]
            .freeze

    class Broken < StandardError
    end

    attr_reader :topic

    # rate: messages a second and partition.
    def initialize(plan, rate: nil)
      @plan, @options, @topic = plan, plan.options, "t"
      @random = Random.new(plan.seed)
      @rate = rate || [10, 60, 200].sample(random: @random)
      workers = @options[:nodes] * @options[:threads]
      service = @random.rand(0.1..0.7) * workers / (@rate * PARTITIONS)
      @service = @options[:marks] ? service : [service, BATCH / @options[:max_messages]].min
      @handled = {}
      @highest, @fed, @low = [-1] * PARTITIONS, [0] * PARTITIONS, [0] * PARTITIONS
      @offsets, @metadata = [0] * PARTITIONS, {}
      @tries, @condemned, @events = Hash.new(0), [], []
      @going_wrong, @hosts = [], %w[answer] * 4
      @due, @unfit_at, @processes = [], {}, []
    end

    def run(&)
      before = srand(@plan.seed)
      @clock = HandlerFuzz::Clock.new
      Skep::OS.run_on(@clock) { live(&) }
    ensure
      srand(before)
    end

    # What its processes ask.

    def marks? = @options[:marks]
    def offset(partition) = @offsets[partition]
    def metadata(partition) = @metadata[partition]

    def end_of(partition) = @fed[partition]

    def message(partition, offset)
      payload = id(partition, offset).to_s
      key = "#{partition}-#{offset % KEYS}"
      Skep::Kafka::Message.new(@topic, partition, offset, key, payload, -1, {})
    end

    # The block waits so many seconds.
    def handle(message, process)
      yield @service * @random.rand(0.5..1.5)
      id = Integer(message.payload)
      if @going_wrong.include?(id)
        @tries[id] += 1
        raise "bad"
      end
      fail_after(@fault_seconds) { |seconds| yield seconds } if ill?(process)
      host = @sharded ? id % 4 : @random.rand(4)
      fail_after(@fault_seconds) { |seconds| yield seconds } unless @hosts[host] == "answer"
      done(message, id, process)
    end

    def condemn(message) = @condemned << id(message.partition, message.offset)

    def replace(process, why)
      slot, now = process.slot, Skep::OS.now
      return if @unfit_at[slot] && now - @unfit_at[slot] < UNFIT_SECONDS

      @unfit_at[slot] = now
      @events << [why, process]
      later(REPLACED * @random.rand(0.5..1.5)) { finish(process) }
    end

    private

    def live
      set_up
      @plan.faults.each.with_index(1) do |fault, number|
        seen = observe(fault, number)
        yield seen
        break if seen.lost.any?
      end
    ensure
      @processes.each(&:close)
      @page&.close
    end

    def set_up
      @layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 16, threads: 0)
      @page = Skep::OS::SharedPage.create(@layout.total)
      @source = Skep::Kafka::Source.new(
        kafka: { "bootstrap.servers": "none" }, group: "g", topics: @topic,
        threads: @options[:threads], max_messages: @options[:max_messages],
        ordered_by: @options[:ordered_by].to_sym, retry_for: @options[:retry_for], **fates
      )
      @options[:nodes].times { |slot| boot(slot) }
      arrive
    end

    def arrive
      PARTITIONS.times do |one|
        more = (@rate * TICK).floor + (@random.rand < (@rate * TICK) % 1 ? 1 : 0)
        @fed[one] = [@fed[one] + more, @highest[one] + WAITING].min
      end
      later(TICK) { arrive }
    end

    def fates
      return {} unless @options[:dead_letters]

      { dead_letter_topic: "dead", max_attempts: @options[:max_attempts] }
    end

    def boot(slot)
      index = (0..).find { |one| @processes.none? { |process| process.page_index == one } }
      @layout.records(index).each { |cell| @page.clear(cell) }
      used = Skep::Swarm::IPC::Scoreboard::Layout::USED
      @page.set(@layout.shared, used, [@page.get(@layout.shared, used), index + 1].max)
      records = Skep::Swarm::IPC::Scoreboard::HandlerRecords.new(@page, @layout, index)
      partitions = (0...PARTITIONS).select { |one| one % @options[:nodes] == slot }
      @processes << SimulatedProcess.new(self, @source, slot:, page_index: index, partitions:,
                                                        records:, threads: @options[:threads])
    end

    # The process has ended, and committed what is done.
    def finish(process)
      return unless @processes.delete(process)

      process.close.each do |_, partition, offset, _, metadata|
        @offsets[partition] = offset
        found = metadata && Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
        @metadata[partition] = found
      end
      later(SUCCESSOR * @random.rand(0.5..1.5)) { boot(process.slot) }
    end

    def later(seconds, &what) = @due << [Skep::OS.now + seconds, what]

    # Returns true once the block does; false after so many seconds.
    def await(seconds)
      deadline = Skep::OS.now + seconds
      loop do
        return true if yield
        return false if @clock.now > deadline

        step(deadline)
      end
    end

    def step(deadline)
      now = Skep::OS.now
      due, @due = @due.partition { |at, _| at <= now }
      due.each { |_, what| what.call }
      return if @processes.map(&:work).any?

      @clock.jump([deadline + 0.001, *@due.map(&:first), *@processes.map(&:next_at)].min)
    end

    def observe(fault, number)
      @bad, @ill, @events, broken = [], nil, [], nil
      from = @condemned.size
      steady
      planted_at = Skep::OS.now
      plant(fault)
      seconds = watch(fault)
      back_after = heal(fault)
      lost = settle
      Observation.new(fault:, options: @options, seed: @plan.seed, number:, bad: @bad,
                      condemned: @condemned.drop(from), lost:, seconds:, back_after:,
                      replaced: @events.size, broken:,
                      unfit: @events.filter_map { |why, one| one.page_index if why == "unfit" },
                      ill: @ill&.page_index, planted_at:, healed_at: @healed_at)
    end

    def steady
      since = [Skep::OS.now, *@unfit_at.values.map { |at| at + UNFIT_SECONDS }].max
      await(DONE) do
        @processes.size == @options[:nodes] && @processes.all? { |one| one.last_at.to_f > since }
      end or raise Broken, "not all nodes work before the fault"
    end

    def plant(fault)
      @fault_seconds = [0.0005, 0.02, 1.0].sample(random: @random)
      @kind = fault.kind
      case fault.cause
      when :message then @going_wrong = @bad = choose(fault)
      when :process
        @ill = @processes[fault.node % @processes.size]
        @share = fault.kind == "no_threads" ? @random.rand(0.3..1.0) : 1.0
      when :dependency
        @sharded, @hosts = fault.sharded, hosts(fault)
      end
    end

    def hosts(fault) = fault.kind == "slow" ? %w[slow] * 4 : fault.hosts

    def choose(fault)
      partitions = (0...PARTITIONS).to_a.sample(fault.count, random: @random)
      partitions.map.with_index do |partition, index|
        nth = @random.rand((EVERY * index)...(EVERY * (index + 1))) / PARTITIONS
        id(partition, @highest[partition] + BEHIND + nth)
      end
    end

    def ill?(process) = process.equal?(@ill) && @random.rand < @share

    def fail_after(seconds)
      yield seconds
      raise IOError, "away"
    end

    def watch(fault)
      since = Skep::OS.now
      found =
        case fault.cause
        when :message then await(VERDICT) { judged? }
        when :process then await(VERDICT / 2) { !@processes.include?(@ill) }
        when :dependency then await(fault.seconds) { false }
        end
      Skep::OS.now - since if found
    end

    def judged?
      return (@bad - @condemned).empty? if @options[:dead_letters]

      @bad.all? { |one| @tries[one] >= TRIES }
    end

    def heal(fault)
      finish(@ill) if fault.cause == :process && @processes.include?(@ill)
      @going_wrong = []
      @hosts = %w[answer] * 4
      since = @healed_at = Skep::OS.now
      @last_at - since if await(60.0) { @last_at.to_f > since }
    end

    # Returns what isn't done of all that had arrived.
    def settle
      lost = gaps(@fed.map { |offset| offset - 1 })
      until lost.empty?
        await(DONE) { settled?(lost.first) } or return lost
        lost.reject! { |one| settled?(one) }
      end
      lost
    end

    def settled?(id) = @handled.key?(id) || @condemned.include?(id)

    def gaps(limit)
      condemned = @condemned.to_h { |one| [one, true] }
      (0...PARTITIONS).flat_map do |partition|
        missing = (@low[partition]..limit[partition]).map { |offset| id(partition, offset) }
        missing.reject! { |one| @handled.key?(one) }
        behind = [limit[partition] + 1, @low[partition]].max
        @low[partition] = missing.any? ? missing.first / PARTITIONS : behind
        missing.reject { |one| condemned.key?(one) }
      end
    end

    def done(message, id, process)
      @last_at = process.last_at = Skep::OS.now
      @handled[id] = true
      @highest[message.partition] = [@highest[message.partition], message.offset].max
    end

    def id(partition, offset) = (offset * PARTITIONS) + partition
  end
end
