# frozen_string_literal: true

require "skep/swarm"
require "skep/kafka/testing"

module Verdicts
  # A node of a simulated swarm: skep's own workers, scheduler, partitions and evidence. Each worker
  # is a fiber, which says until when it is busy.
  #
  #   process = SimulatedProcess.new(swarm, source, slot: 1, pid: 9, partitions: [1, 4], …)
  #   process.work      # as far as it goes now; => true if anything was done
  #   process.next_at   # => when it goes on; infinite if it never does
  #   process.committable_offsets   # => [topic, number, offset, epoch, metadata] of each partition
  class SimulatedProcess < Skep::Kafka::Testing::TestRun
    # Passes on what the swarm has to know, and keeps nothing.
    class Node < Skep::Kafka::Testing::FakeNode
      attr_reader :__handler_records, :crash_suspects, :progress

      def initialize(process, swarm, records, suspects)
        super()
        @process, @swarm, @__handler_records, @crash_suspects = process, swarm, records, suspects
      end

      def __replace_process(why, **) = @swarm.replace(@process, why)
      def in_flight(text, **) = @progress = [text, nil]
      def current_item(offset) = @progress = [@progress&.first, offset]

      def event(name, partition: nil, offset: nil, **)
        @swarm.condemn(partition, offset) if name == :message_quarantined
      end
    end

    # Endless: so many messages wait behind the last one that was handled.
    class Log
      def initialize(swarm, partition, offset)
        @swarm, @partition, @next = swarm, partition, offset
      end

      def read(limit)
        last = [@next + limit, @swarm.end_of(@partition)].min
        messages = (@next...last).map { |offset| @swarm.message(@partition, offset) }
        @next = last
        [Skep::Kafka::Librdkafka::MessageSet.new(messages), [], messages.size]
      end

      # Returns true once for messages that have arrived.
      def more?
        before, @known = @known, @swarm.end_of(@partition)
        before != @known
      end

      def end = @swarm.end_of(@partition)
      def seek(_place) = raise(NotImplementedError)
      def notify(_wakeup_pipe, _number) = nil
      def position = nil
      def leader_epoch = nil
      def low_watermark = nil
      def close = nil
    end

    # Its messages are condemned.
    class DeadLetters < Skep::Kafka::Testing::FakeDeadLetterQueue
      attr_accessor :swarm

      def put(message, *, **) = swarm.condemn(message.partition, message.offset)
    end
    private_constant :Node, :Log, :DeadLetters

    APART = 0.01 # seconds, of the checks what may be tried again
    private_constant :APART

    attr_reader :slot, :pid, :index, :suspects, :next_at
    attr_accessor :last_at

    # index: of its cells on the page.
    def initialize(swarm, source, slot:, pid:, index:, partitions:, records:, suspects:)
      @swarm, @slot, @pid, @index, @suspects = swarm, slot, pid, index, suspects
      @busy = {}.compare_by_identity # the fiber of a worker, and until when it is busy
      @next_at = @deadline = @woken_at = 0.0
      node = Node.new(self, swarm, records, suspects)
      super(source, [], node:, retries: 1, handler: nil)
      @options = source.__options # with the time that retries take
      build(threads: @options.threads)
      @logs = {}
      partitions.each.with_index(1) { |number, id| add(number, id) }
    end

    def work
      now = Skep::OS.now
      fed = feed
      return false if @next_at > now && !fed

      if fed || now >= @deadline
        @scheduler.wake_ready
        @woken_at = now
      end
      advanced = @workers.count { |worker| advance(worker, now) }
      @deadline = [@scheduler.next_deadline || Float::INFINITY, @woken_at + APART].max
      @next_at = advanced.positive? ? now : [@deadline, *@busy.each_value.map(&:last)].min
      advanced.positive?
    rescue SignalException
      @swarm.crashed(self, @node.progress)
      true
    end

    def committable_offsets = @scheduler.committable_offsets

    def close
      @scheduler.close
      @metrics.tap(&:close).clear
      @scheduler.clear
    end

    private

    def add(number, id)
      key = [@swarm.topic(number), number]
      log = @logs[key] = Log.new(@swarm, number, @swarm.offset(number))
      @scheduler.add(partition(key, log, id))
    end

    def partition(key, log, id)
      (@by_id ||= {})[id] = log
      super(key, log, id, committed: @swarm.metadata(key.last))
    end

    # Returns true if messages have arrived.
    def feed
      return false if @fed_at == @swarm.fed_at

      @fed_at = @swarm.fed_at
      @by_id.count { |id, log| log.more? && (@scheduler.wakeup_pipe.wake(id) || true) }.positive?
    end

    # Returns false if the worker is busy, or has nothing to do.
    def advance(worker, now)
      fiber, time = @busy[worker] || [begin_item(worker), 0.0]
      return false if fiber.nil? || time > now

      @busy.delete(worker)
      time = fiber.resume
      @busy[worker] = [fiber, time] if fiber.alive?
      true
    end

    def begin_item(worker)
      item = worker.next_item(wait: false) or return
      Fiber.new { worker.work(item) }
    end

    def dead_letter_queue
      DeadLetters.new(@options.settings, @node).tap { |queue| queue.swarm = @swarm }
    end

    def handle(batch, _node)
      return batch.payloads.each { |payload| try(payload) } if @swarm.payloads?

      batch.each do |message|
        try(message.payload)
        batch.mark(message) if @swarm.marks?
      end
    end

    def try(payload)
      @swarm.handle(payload, self) { |seconds| Fiber.yield(Skep::OS.now + seconds) }
    end
  end
end
