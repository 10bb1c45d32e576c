# frozen_string_literal: true

require "kafka/fuzz/run"
require "kafka/verdicts/observation"
require "kafka/verdicts/plan"
require "kafka/verdicts/simulated_process"

module Verdicts
  # A Life whose processes are simulated, on a clock that jumps: many faults a minute. Of those
  # that end processes it has crashes only. What no plan says is drawn:
  # how long a message takes, how long a failure, and how much of a process is ill.
  #
  #   SimulatedLife.new(plan).run { |observation| … }
  #
  # A plan has more options for it, see `options`. nodes: one has no other process to compare with.
  # topics: with five, one has no record on the scoreboard. payloads: the handler doesn't say at
  # which message it fails. ends: processes are "killed" while a fault lasts, or "replaced".
  class SimulatedLife
    PARTITIONS, WAITING, KEYS = 6, 500, 50 # as of Stream; partitions of a topic
    BATCH = 2.0 # seconds without a mark, at most: until then nobody knows how it goes
    TICK = 0.05 # seconds, at the end of which messages arrive
    VERDICT, DONE = 120.0, 120.0 # seconds
    TRIES, BEHIND, EVERY = 6, 10, 200 # as of Life
    ENDED, BOOTED = 0.3, 0.5 # seconds until a process has ended, and until another one can begin
    APART = [0.0, 0.05, 1.0].freeze # seconds between the ends of two hosts of the dependency
    ENDS = 3 # of processes while a fault lasts
    COMMITTED = 1.0 # seconds between two commits
    UNFIT_SECONDS = 20 # as of NodePool
    KINDS = %w[raises crashes no_descriptors no_threads drained_pool poisoned_cache refuses slow
               half_gone].freeze

    class Broken < StandardError
    end

    attr_reader :fed_at # when messages have arrived

    def self.options(random)
      { nodes: [1, 3, 3].sample(random:), topics: [1, 1, 5].sample(random:),
        payloads: random.rand < 0.25, ends: [nil, nil, "killed", "replaced"].sample(random:) }
    end

    # rate: messages a second, of a partition if there is one topic.
    def initialize(plan, rate: nil)
      @plan, @options = plan, plan.options
      @random = Random.new(plan.seed)
      @partitions = PARTITIONS * topics
      @rate = (rate || [10, 60, 200].sample(random: @random)).fdiv(topics)
      # A suspect waits for other threads, and topics count them; here, they are fibers of one.
      @threads = topics > 1 || plan.faults.any?(&:ends_nodes?) ? 1 : @options[:threads]
      workers = @options[:nodes] * @threads
      service = @random.rand(0.1..0.7) * workers / (@rate * @partitions)
      @service = marks? ? service : [service, BATCH / @options[:max_messages]].min
      @handled = {}
      @highest, @fed, @low = [-1] * @partitions, [0] * @partitions, [0] * @partitions
      @offsets, @metadata = [0] * @partitions, {}
      @tries, @condemned, @events = Hash.new(0), [], []
      @going_wrong, @hosts = [], %w[answer] * 4
      @due, @unfit_at, @processes, @indices, @begun = [], {}, [], [], 0
      @suspects = Skep::Swarm::IPC::CrashSuspects.new
    end

    def run(&)
      before = srand(@plan.seed)
      @clock = HandlerFuzz::Clock.new
      Skep::OS.run_on(@clock) { live(&) }
    ensure
      srand(before)
    end

    # What its processes ask.

    def payloads? = @options[:payloads]
    def marks? = @options[:marks] && !payloads?
    def offset(partition) = @offsets[partition]
    def metadata(partition) = @metadata[partition]

    def end_of(partition) = @fed[partition]
    def topic(partition) = "t#{partition % topics}"

    def message(partition, offset)
      payload = id(partition, offset).to_s
      key = "#{partition}-#{offset % KEYS}"
      Skep::Kafka::Message.new(topic(partition), partition, offset, key, payload, -1, {})
    end

    # The block waits so many seconds.
    def handle(payload, process)
      yield @service * @random.rand(0.5..1.5)
      id = Integer(payload)
      if @going_wrong.include?(id)
        @tries[id] += 1
        raise @kind == "crashes" ? SignalException.new("SEGV") : "bad"
      end
      fail_after(@fault_seconds) { |seconds| yield seconds } if ill?(process)
      host = @sharded ? id % 4 : @random.rand(4)
      fail_after(@fault_seconds) { |seconds| yield seconds } unless @hosts[host] == "answer"
      done(id, process)
    end

    def condemn(partition, offset) = @condemned |= [id(partition, offset)]

    def replace(process, why)
      slot, now = process.slot, Skep::OS.now
      return if @unfit_at[slot] && now - @unfit_at[slot] < UNFIT_SECONDS

      @unfit_at[slot] = now
      @events << [why, process]
      succeed(process)
    end

    # A message has ended the process. in_flight: as of CrashSuspects#record_crash.
    def crashed(process, in_flight)
      added = @suspects.record_crash([in_flight], process.slot, Skep::OS.now, "SIGSEGV")
      tell_suspects("added" => added.map(&:to_plain))
      kill(process)
    end

    def resolved(keys, blamed:)
      return @suspects.clear_crashes(keys, Skep::OS.now) if blamed

      tell_suspects("dropped" => keys) if @suspects.clear(keys).any?
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

    def topics = @options.fetch(:topics, 1)
    def tell_suspects(frame) = @processes.each { |one| one.suspects.__receive(frame) }

    def set_up
      @layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 16, threads: 0)
      @page = Skep::OS::SharedPage.create(@layout.total)
      @source = source(kafka: { "bootstrap.servers": "none" }, group: "g", threads: @threads,
                       max_messages: @options[:max_messages], retry_for: @options[:retry_for],
                       ordered_by: @options[:ordered_by].to_sym, **fates)
      @options[:nodes].times { |slot| begin_process(slot, page_index) }
      arrive
      commit
    end

    def source(**options)
      return Skep::Kafka::Source.new(**options, topics: topic(0)) if topics == 1

      Skep::Kafka::Source.new(**options) do |source|
        topics.times { |one| source.topic(topic(one)) { raise NotImplementedError } }
      end
    end

    def arrive
      @partitions.times do |one|
        more = (@rate * TICK).floor + (@random.rand < (@rate * TICK) % 1 ? 1 : 0)
        @fed[one] = [@fed[one] + more, @highest[one] + WAITING].min
      end
      @fed_at = Skep::OS.now
      later(TICK) { arrive }
    end

    def commit
      @processes.each { |process| store(process.committable_offsets) }
      later(COMMITTED) { commit }
    end

    def store(entries)
      entries.each do |_, partition, offset, _, metadata|
        @offsets[partition] = offset
        found = metadata && Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
        @metadata[partition] = found
      end
    end

    def fates
      return { on_poison: :skip } unless @options[:dead_letters]

      { dead_letter_topic: "dead", max_attempts: @options[:max_attempts] }
    end

    # A process boots: it has cells that no other one has.
    def page_index
      index = (0..).find { |one| !@indices.include?(one) }
      @indices << index
      @layout.records(index).each { |cell| @page.clear(cell) }
      used = Skep::Swarm::IPC::Scoreboard::Layout::USED
      @page.set(@layout.shared, used, [@page.get(@layout.shared, used), index + 1].max)
      index
    end

    def begin_process(slot, index)
      records = Skep::Swarm::IPC::Scoreboard::HandlerRecords.new(@page, @layout, index)
      report = ->(_, frame) { resolved(frame["suspects"], blamed: frame["blamed"]) }
      suspects = Skep::Swarm::Processes::KnownSuspects.new(@suspects.to_plain, report:)
      partitions = (0...@partitions).select { |one| one % @options[:nodes] == slot }
      @processes << SimulatedProcess.new(self, @source, slot:, pid: @begun += 1, index:,
                                                        partitions:, records:, suspects:)
    end

    # Its successor boots beside it, and begins once it has ended, and has committed what is done.
    def succeed(process)
      later(BOOTED * @random.rand(0.5..1.5)) do
        next unless @processes.include?(process)

        index = page_index
        later(ENDED * @random.rand(0.5..1.5)) do
          next @indices.delete(index) unless @processes.include?(process)

          store(process.committable_offsets)
          remove(process)
          begin_process(process.slot, index)
        end
      end
    end

    # What it has done since the last commit is done again.
    def kill(process)
      remove(process)
      later(BOOTED * @random.rand(0.5..1.5)) { begin_process(process.slot, page_index) }
    end

    def remove(process)
      @processes.delete(process)
      @indices.delete(process.index)
      process.close
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
      return if @processes.dup.map(&:work).any?

      @clock.jump([deadline + 0.001, *@due.map(&:first), *@processes.map(&:next_at)].min)
    end

    def observe(fault, number)
      @bad, @ill, @events, broken = [], nil, [], nil
      from = @condemned.size
      steady
      planted_at = Skep::OS.now
      plant(fault)
      end_processes(fault, ENDS) if @options[:ends]
      seconds = watch(fault)
      back_after = heal(fault)
      lost = settle
      Observation.new(fault:, options: @options, seed: @plan.seed, number:, bad: @bad,
                      condemned: @condemned.drop(from), lost:, seconds:, back_after:,
                      replaced: @events.size, broken:,
                      unfit: @events.filter_map { |why, one| one.pid if why == "unfit" },
                      ill: @ill&.pid, planted_at:, healed_at: @healed_at)
    end

    def steady
      since = [Skep::OS.now, *@unfit_at.values.map { |at| at + UNFIT_SECONDS }].max
      await(DONE) do
        @processes.size == @options[:nodes] && @processes.all? { |one| one.last_at.to_f > since }
      end or raise Broken, "not all nodes work before the fault"
    end

    def plant(fault)
      @fault_seconds = [0.0005, 0.02, 1.0].sample(random: @random)
      @kind, @planted = fault.kind, fault
      case fault.cause
      when :message then @going_wrong = @bad = choose(fault)
      when :process
        @ill = @processes[fault.node % @processes.size]
        partly = fault.kind == "no_threads" && @processes.size > 1 # alone, nothing would show it
        @share = partly ? @random.rand(0.1..1.0) : 1.0
      when :dependency
        @sharded, apart = fault.sharded, APART.sample(random: @random)
        hosts(fault).each.with_index do |state, index|
          later(index * apart) { @hosts[index] = state if fault.equal?(@planted) }
        end
      end
    end

    # One after another, while the fault lasts. (The ill one's illness would end.)
    def end_processes(fault, left)
      return if left.zero?

      later(@random.rand(0.5..6.0)) do
        next unless fault.equal?(@planted)

        process = @processes.reject { |one| one.equal?(@ill) }.sample(random: @random)
        @options[:ends] == "killed" ? kill(process) : succeed(process) if process
        end_processes(fault, left - 1)
      end
    end

    def hosts(fault) = fault.kind == "slow" ? %w[slow] * 4 : fault.hosts

    def choose(fault)
      partitions = (0...@partitions).to_a.sample(fault.count, random: @random)
      partitions.map.with_index do |partition, index|
        nth = @random.rand((EVERY * index)...(EVERY * (index + 1))) / @partitions
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
      return (@bad - @condemned).empty? if @options[:dead_letters] || @kind == "crashes"

      @bad.all? { |one| @tries[one] >= TRIES }
    end

    def heal(fault)
      @planted = nil
      kill(@ill) if @processes.include?(@ill)
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
      (0...@partitions).flat_map do |partition|
        missing = (@low[partition]..limit[partition]).map { |offset| id(partition, offset) }
        missing.reject! { |one| @handled.key?(one) }
        behind = [limit[partition] + 1, @low[partition]].max
        @low[partition] = missing.any? ? missing.first / @partitions : behind
        missing.reject { |one| condemned.key?(one) }
      end
    end

    def done(id, process)
      @last_at = process.last_at = Skep::OS.now
      @handled[id] = true
      offset, partition = id.divmod(@partitions)
      @highest[partition] = [@highest[partition], offset].max
    end

    def id(partition, offset) = (offset * @partitions) + partition
  end
end
