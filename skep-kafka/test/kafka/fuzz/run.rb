# frozen_string_literal: true

require "kafka/fuzz/program"
require "kafka/fuzz/model"
require "kafka/fuzz/cluster"
require "kafka/fuzz/database"
require "kafka/fuzz/handler"
require "kafka/fuzz/partition_states"

module HandlerFuzz
  # A clock that goes on by a microsecond at each question, and that jumps to the next deadline when
  # there is nothing to do.
  class Clock < Skep::OS::Machine
    def initialize
      super
      @now = 1_000.0
    end

    def now = @now += 1e-6
    def jump(time) = @now = [@now, time].max
  end

  # Runs a program with skep's own workers, scheduler and partitions. Each worker is a fiber: the
  # seed decides which one continues. Raises Broken.
  class Run < Skep::Kafka::Testing::TestRun
    STEPS = 1_000
    PROGRESS_CELLS = 100
    private_constant :STEPS, :PROGRESS_CELLS

    attr_reader :program, :model, :table

    def self.of(program)
      before = srand(program.seed)
      clock = Clock.new
      Skep::OS.run_on(clock) { new(program, clock).run }
    ensure
      srand(before)
    end

    def initialize(program, clock)
      @program, @clock = program, clock
      @random = Random.new(program.seed)
      @model = Model.new(program)
      @cluster = Cluster.new(program, @model)
      @table = Table.new(@cluster)
      @done = Hash.new { |all, field| all[field] = Hash.new(0).compare_by_identity }
      @faults = program.faults.dup
      @step = @visits = 0
      @slot_pages = Skep::Swarm::Nodes::SlotPages.new(PROGRESS_CELLS) if program.progress?
      boot
      super(source, messages, node: @node, retries: 1_000, handler: method(:program_handler))
    end

    def run
      Table.stand_in(@table) { super }
      @model.finished
    rescue Broken, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- it would end the node
      raise Broken, "#{e.class} ends the node: #{e.message.lines.first}" \
                    "at #{e.backtrace.first(3).join("\n")}"
    ensure
      [@pages, @slot_pages].compact.each(&:close)
    end

    # What the handler does.

    # The next step of the message's script of that name.
    def next_step(fate, field)
      fate.item[field].to_a[(@done[field][fate] += 1) - 1]
    end

    # Does this visit raise, whatever the script says? A batch of more messages never succeeds as a
    # whole, and fails at one of two messages.
    def noise?
      noise = @program.noise or return false
      [0, noise].include?((@visits += 1) % ((2 * noise) + 1))
    end

    def switch = Fiber.yield

    # The group asks for the partition.
    def revoke(*key)
      leaving = @scheduler.begin_revocation([key])
      @revoked << leaving if leaving.any?
    end

    # What skep tells.

    # Has another owner the partition whose message this worker has?
    def lost? = @lost.key?(@partitions[Fiber.current])

    def output_failed(error) = @handlers.fetch(Fiber.current).output_failed(error)

    def dead_lettered(message, error, attempts)
      failure = @cluster.dead_letter_failure
      raise failure if failure

      @model.dead_lettered(message, error, attempts, lost: lost?)
    end

    private

    # A new process.
    def boot
      report = ->(error, context) { @model.reported(error, *context.values_at(:offset, :attempt)) }
      @node = Node.new(on_error: [report])
      @fibers, @partitions, @handlers = Array.new(3) { {}.compare_by_identity }
      @lost = {}.compare_by_identity
      @revoked = []
      @pages = Skep::Swarm::IPC::ProgressPages.open(@slot_pages.take_over(@node)) if @slot_pages
    end

    def source
      options = @program.options
      keys = ->(message) { visit_before(message, :key_errors) || message.key }
      ordered_by = options[:ordered_by] == :callable ? keys : options[:ordered_by]
      dead = @program.dead_letters?
      more = dead ? { dead_letter_topic: "dead", max_attempts: options[:max_attempts] } : {}
      more[:offsets] = :database if @program.database?
      Skep::Kafka::Source.new(
        kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t", ordered_by:,
        threads: options[:threads], max_messages: options[:max_messages],
        transactional: @program.transactional?, on_error: dead ? Errors::POLICY : Errors::PAUSING,
        filter: ->(message) { visit_before(message, :filter) || kept?(message) },
        deserializer: ->(payload, _) { visit_before(payload, :reader) || payload }, **more
      )
    end

    def messages
      @program.items.map do |item|
        { topic: "t", partition: item.partition, offset: item.offset, key: item.key,
          timestamp: Time.at(item.offset), payload: item.place.join("/") }
      end
    end

    def kept?(message) = !@model.fate(message).item.skipped

    # What filters, deserializers and key extractors do with a message. Returns nil.
    def visit_before(message, field)
      if message.is_a?(String)
        message = @messages.find { |one| one.payload == message }
      end
      fate = @model.fate(message)
      kind = next_step(fate, field) or return
      error = Errors.of(kind, fate)
      @model.raised([fate], error)
      raise error
    end

    def set_up
      super
      @progress&.assigned
    end

    def build
      super(threads: @program.options[:threads])
      resume if @pages
    end

    # At its assignment: begins where its predecessor was.
    def resume
      report = Skep::Kafka::Metrics::EventReporter.new(@node, @options.settings)
      @progress = Skep::Kafka::Consumer::MemberProgress.new(
        @options, pages: @pages, consumer: @consumer, report:, topic_recreation: Topics,
                  identity: ["swarm", *@consumer.identity]
      )
      committed = @logs.keys.to_h do |key|
        offset, metadata = *@cluster.committed[key]
        [key, offset && [offset, nil, metadata]]
      end
      @progress.resume(@logs.keys, committed)
    end

    def consumer = Consumer.new(@logs, @cluster, self)
    def outputs = Outputs.new(self, @cluster, @program.transactional?)

    def dead_letter_queue
      DeadLetters.new(@options.settings, @node).tap { |queue| queue.run = self }
    end

    def partition(key, _log, id)
      offset, metadata = *@cluster.committed[key]
      messages = @messages.select { |one| [one.topic, one.partition] == key }
      log = Log.new(messages, key, @cluster) { |found| @progress&.sought(key, found) }
      log.begin_at(offset) if offset
      @cluster.assigned(key)
      committed = Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
      progress = @progress&.add(key, @options.for(key.first), offset, nil, committed)
      super(key, log, id, committed:, progress:).extend(PartitionStates).tap do |one|
        one.lock = @scheduler.instance_variable_get(:@lock)
      end
    end

    def stuck? = false

    def step
      raise Broken, "it never ends" if (@step += 1) > STEPS

      meet_faults
      @cluster.would_commit(@scheduler.committable_offsets)
      hand_over
      @scheduler.wake_ready
      return if work

      deadline = @scheduler.next_deadline
      return @clock.jump(deadline) if deadline&.finite?

      @over = true if @revoked.empty?
    end

    # Returns false if no worker has anything to do.
    def work
      worker = @workers.sample(random: @random)
      continue(worker) || @workers.any? { |other| continue(other) }
    rescue SystemExit
      crash
      true
    end

    # Returns false if the worker has nothing to do.
    def continue(worker)
      fiber = @fibers.delete(worker) || begin_work(worker) or return false
      fiber.resume
      @model.broken_rule&.then { |broken| raise broken }
      @fibers[worker] = fiber if fiber.alive?
      true
    end

    def begin_work(worker)
      item = worker.next_item(wait: false) or return
      Fiber.new { worker.work(item) }.tap { |fiber| @partitions[fiber] = item.partition }
    end

    def program_handler(batch, node)
      handler = @handlers[Fiber.current] = Handler.new(self, batch, node)
      handler.call
    end

    def meet_faults
      while @faults.any? && @faults.first.first <= @step
        _, name, what = @faults.shift
        case name
        when :revoke then revoke("t", what)
        when :lose then lose("t", what)
        when :commit then commit(what)
        when :crash then crash
        end
      end
    end

    # Other members take the partition at once: nothing more of it is committed.
    def lose(*key)
      @scheduler.begin_revocation([key]).each do |partition|
        @scheduler.finish_revocation([partition])
        hand_to_next_owner(partition)
        @model.restarted([key.last], &@cluster.method(:done?))
      end
    end

    # What is done is committed once no handler processes the partition.
    def hand_over
      @revoked.delete_if do |leaving|
        next if @scheduler.processing(leaving).any?

        @cluster.commit(@scheduler.finish_revocation(leaving))
        leaving.each { |partition| hand_to_next_owner(partition) }
      end
    end

    def hand_to_next_owner(partition)
      @lost[partition] = true
      @handlers.each { |fiber, one| one.lost = true if @partitions[fiber].equal?(partition) }
      @model.handed_over(partition.number)
      @scheduler.add(partition(partition.key, nil, @number = (@number || 100) + 1))
    end

    # by: whose commit it is, librdkafka's or skep's.
    def commit(by)
      return @cluster.commit_stored if by == :librdkafka && !@program.by_key?

      @scheduler.committable_offsets { |entries| @consumer.begin_commit(entries) }
    end

    # The process is killed. Another one of its slot begins where it was, or with what has been
    # committed.
    def crash
      @scheduler.close
      @scheduler.clear
      @metrics.close
      @metrics.clear
      [@table, @model].each(&:crashed)
      @pages&.close
      @slot_pages&.leave(@node)
      boot
      set_up
      @model.continued(@program.partitions, &@cluster.method(:done?)) if @progress
      @model.restarted(@program.partitions, &@cluster.method(:done?))
    end
  end
end
