# frozen_string_literal: true

require "delegate"
require "kafka/fuzz/program"
require "kafka/fuzz/model"

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

  # The node: reports failures to the model, and has a producer for each worker.
  class Node < Skep::Kafka::Testing::FakeNode
    # The node of one worker.
    class Worker < SimpleDelegator
      attr_reader :producer

      def __lend(producer) = @producer = producer
    end
    private_constant :Worker

    def thread(_thread) = Worker.new(self)
    def __lend(_producer) = nil
  end

  # A dead letter queue that asks the model.
  class DeadLetters < Skep::Kafka::Testing::FakeDeadLetterQueue
    attr_writer :model

    def put(message, error, attempts:, **)
      @model.dead_lettered(message, error, attempts)
      super
    end
  end

  # Runs a program with skep's own workers, scheduler and partitions. Each worker is a fiber: the
  # seed decides which one continues. Raises Broken.
  class Run < Skep::Kafka::Testing::TestRun
    # One call of the handler.
    Call = Struct.new(:batch, :fates, :visited)
    STEPS = 1_000
    private_constant :Call, :STEPS

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
      @steps = Hash.new { |all, key| all[key] = Hash.new(0).compare_by_identity }
      @fibers, @revoked = {}, []
      report = ->(error, context) { @model.reported(error, *context.values_at(:offset, :attempt)) }
      super(source, messages, node: Node.new(on_error: [report]), retries: 1_000,
                              handler: method(:program_handler))
    end

    def run
      super
      @model.finished
    rescue Broken, SignalException
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- it would end the node
      raise Broken, "#{e.class} ends the node: #{e.message.lines.first}" \
                    "at #{e.backtrace.first(3).join("\n")}"
    end

    private

    def source
      options = @program.options
      keys = ->(message) { visit_before(message, :key_errors) || message.key }
      ordered_by = options[:ordered_by] == :callable ? keys : options[:ordered_by]
      dead = @program.dead_letters?
      more = dead ? { dead_letter_topic: "dead", max_attempts: options[:max_attempts] } : {}
      Skep::Kafka::Source.new(
        kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t", ordered_by:,
        threads: options[:threads], max_messages: options[:max_messages],
        transactional: options[:transactional], on_error: dead ? Errors::POLICY : Errors::PAUSING,
        filter: ->(message) { visit_before(message, :filter) || !item(message).skipped },
        deserializer: ->(payload, _) { visit_before(payload, :reader) || payload }, **more
      )
    end

    def messages
      @program.items.map do |item|
        { topic: "t", partition: item.partition, offset: item.offset, key: item.key,
          payload: item.place.join("/") }
      end
    end

    def item(message) = @model.fate(message).item

    # What filters, deserializers and key extractors do with a message. Returns nil.
    def visit_before(message, field)
      if message.is_a?(String)
        message = @messages.find { |one| one.payload == message }
      end
      fate = @model.fate(message)
      kind = next_step(fate, field) or return
      fail_at(fate, kind)
    end

    def next_step(fate, field)
      number = (@steps[field][fate] += 1)
      fate.item[field][number - 1]
    end

    def fail_at(fate, kind, unplaced: false)
      error = Errors.const_get(kind).new("#{kind} at #{fate.item.place.join("/")}")
      error.define_singleton_method(:unplaced) { unplaced }
      @model.raised(fate, error)
      raise error
    end

    def build
      super(threads: @program.options[:threads])
      @dead_letters.model = @model
    end

    def dead_letter_queue = DeadLetters.new(@options.settings, @node)
    def stuck? = false

    def step
      raise Broken, "it never ends" if (@count = @count.to_i + 1) > STEPS

      check_commits
      hand_over
      @scheduler.wake_ready
      worker = @workers.sample(random: @random)
      return if continue(worker) || @workers.any? { |other| continue(other) }

      deadline = @scheduler.next_deadline
      return @clock.jump(deadline) if deadline&.finite?

      @over = true if @revoked.empty?
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
      Fiber.new { worker.work(item) }
    end

    def program_handler(batch, node)
      call = Call.new(batch, batch.messages.map { |message| @model.fate(message) }, [])
      @model.begin(call)
      visit_all(call, node)
      conclude(call)
    rescue Exception # rubocop:disable Lint/RescueException -- raised again
      call.fates.each { |fate| fate.batches += 1 } if call.fates.first.item.mode == :whole
      raise
    ensure
      @model.end(call)
    end

    def visit_all(call, node)
      batch = call.batch
      case call.fates.first.item.mode
      when :whole
        batch.messages.each { |message| visit(call, message, node) == :leave and break }
      when :looked_before
        batch.find { false }
        batch.each { |message| visit(call, message, node) == :leave and break }
      when :nested
        batch.each do |message|
          batch.each { nil }
          visit(call, message, node) == :leave and break
        end
      else batch.each { |message| visit(call, message, node) == :leave and break }
      end
    end

    def visit(call, message, node)
      fate = @model.fate(message)
      @model.visit(call, fate)
      node.producer.produce("out", message.payload) if @program.options[:transactional]
      name, what = next_step(fate, :script)
      case name
      when nil then nil
      when :mark then mark(call, message.offset)
      when :raise then fail_at(fate, what, unplaced: unplaced?(call))
      when :mark_raise then mark_and_fail(call, fate, message.offset, what)
      when :mark_all_raise then mark_and_fail(call, fate, call.batch.last_offset, what)
      when :mark_first_raise then mark_and_fail(call, fate, call.batch.first_offset, what)
      when :pause then leave { call.batch.pause(1) }
      when :mark_pause
        mark(call, message.offset)
        leave { call.batch.pause(1) }
      when :seek then leave { call.batch.seek(what) }
      when :revoke then revoke(message)
      when :switch then Fiber.yield
      end
    end

    def unplaced?(call) = call.fates.first.item.mode == :whole

    def leave
      yield
      :leave
    end

    # Once the loop has ended early, only messages that it has yielded can be marked.
    def mark(call, offset)
      call.batch.mark(offset) || call.batch.revoked? or raise Broken, "a mark was refused"
      upto = [offset, *call.batch.__ended_at].min
      some = call.fates.select { |fate| fate.item.offset <= upto }
      call.batch.revoked? ? some.each { |fate| fate.settled = true } : @model.done(some)
    end

    def mark_and_fail(call, fate, offset, kind)
      mark(call, offset)
      fail_at(fate, kind, unplaced: unplaced?(call))
    end

    def conclude(call)
      what, place = call.batch.__requested
      return @model.sought(call.batch.partition, place) if what == :seek
      return if what

      early = call.batch.__ended_at
      seen = call.fates.select { |fate| early.nil? || fate.item.offset <= early }
      early ? seen.each { |fate| fate.settled = true } : @model.done(seen)
    end

    def revoke(message)
      @revoked << @scheduler.ask_back([[message.topic, message.partition]])
    end

    # The next owner begins where the last one's commit says.
    def hand_over
      @revoked.delete_if do |leaving|
        next if @scheduler.processing(leaving).any?

        entries = @scheduler.take_back(leaving).to_h { |entry| [entry.first(2), entry] }
        leaving.each { |partition| assign(partition.key, entries[partition.key]) }
        true
      end
    end

    def assign(key, entry)
      _, _, offset, _, metadata = *entry
      offset ||= @handed_over&.[](key) || 0
      (@handed_over ||= {})[key] = offset
      found = Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
      messages = @messages.select { |one| [one.topic, one.partition] == key }
      log = Skep::Kafka::Testing::FakeLog.new(messages)
      log.seek(offset)
      new = partition(key, log, @number = (@number || 100) + 1)
      new.restore(found) if found
      @scheduler.add(new)
    end

    def check_commits
      @scheduler.done.each do |_, number, offset, _, metadata|
        found = Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
        @model.committed(number, offset) { |one| found&.done?(one) }
      end
    end
  end
end
