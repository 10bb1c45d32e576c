# frozen_string_literal: true

require "kafka/fuzz/model"
require "delegate"
require "skep/kafka/testing"

module HandlerFuzz
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

  # The messages of a partition. The cluster hears where a seek leads.
  class Log < Skep::Kafka::Testing::FakeLog
    # The block hears of a seek before the cluster.
    def initialize(messages, key, cluster, &seeking)
      super(messages)
      @key, @cluster, @seeking = key, cluster, seeking
    end

    def begin_at(offset) = @next = index(offset)

    def seek(place)
      offset = super
      @seeking.call(offset)
      @cluster.sought(@key, offset)
      offset
    end
  end

  # What outlives a node: committed offsets, output, dead letters. Asks the model about each.
  class Cluster
    attr_reader :committed # by topic and partition: [offset, metadata]

    def initialize(program, model)
      @program, @model = program, model
      @committed, @stored, @rows = {}, {}, {}
      @output_failures = program.failures[:output].dup
      @dead_letter_failures = program.failures[:dead_letter].dup
    end

    # The offset is librdkafka's from here on: it commits it when it likes.
    def store(key, offset)
      return @stored.delete(key) if offset.nil?

      earlier = @stored[key]
      raise Broken, "#{key.join("/")} goes back to #{offset}" if earlier && offset < earlier

      @stored[key] = offset
      @model.committed(key.last, offset)
    end

    def commit(entries)
      entries.each do |topic, number, offset, epoch, metadata|
        check(topic, number, offset, epoch, metadata)
        @committed[[topic, number]] = [offset, metadata]
      end
    end

    # What librdkafka does every now and then.
    def commit_stored
      @stored.each { |key, offset| @committed[key] = [offset, nil] }
    end

    # A new owner, or the same one at another place.
    def assigned(key) = @stored.delete(key)

    def sought(key, offset)
      assigned(key)
      @committed[key] = [offset, nil]
      @model.sought(key.last, offset)
    end

    # Doesn't the next owner get this message any more?
    def done?(key, offset)
      return offset < @rows.fetch(key, 0) if @program.database?

      committed, metadata = @committed[key]
      found = Skep::Kafka::Processing::CommitMetadata.read(metadata, committed)
      committed && (offset < committed || found&.done?(offset))
    end

    # The offset and what was written with it are committed together.
    def transaction(key, offset, payloads)
      if @program.database? then @rows[key] = offset
      else @committed[key] = [offset, nil]
      end
      @model.committed(key.last, offset)
      payloads.each { |payload| @model.written(payload, offset) }
    end

    # What would be committed now.
    def would_commit(entries) = entries.each { |entry| check(*entry) }

    # Errors of the next output and of the next dead letter; nil: it is delivered.
    def output_failure = failure(@output_failures.shift, "out")
    def dead_letter_failure = failure(@dead_letter_failures.shift, "dead")

    private

    def check(_topic, number, offset, _epoch = nil, metadata = nil)
      found = Skep::Kafka::Processing::CommitMetadata.read(metadata, offset)
      @model.committed(number, offset) { |one| found&.done?(one) }
    end

    def failure(kind, topic)
      code = { passing: nil, refused: 10 }.fetch(kind || return)
      Skep::Kafka::DeliveryFailed.new(topic:, cause: "the fuzzer says so", code:)
    end
  end

  # The consumer of one node.
  class Consumer < Skep::Kafka::Testing::FakeConsumer
    # A commit that has its answer already.
    Committed = Struct.new(:code) do
      def wait(_seconds) = code
    end
    private_constant :Committed

    def initialize(logs, cluster, run)
      super(logs)
      @cluster, @run = cluster, run
    end

    def store(topic, number, offset, _epoch = nil, _metadata = nil)
      raise Broken, "an offset of a lost partition is stored" if @run.lost?

      @cluster.store([topic, number], offset)
      super
    end

    def begin_commit(offsets)
      @cluster.commit(offsets)
      Committed.new(0)
    end

    def commit_later(offsets) = @cluster.commit(offsets)

    # What a member is asked that comes back after a kill: the group had no rebalance.

    def identity = %w[g member]
    def generation = 1
    def beginnings(keys, _seconds) = keys.to_h { |key| [key, 0] }
    def ends(keys, _seconds) = keys.to_h { |key| [key, @logs.fetch(key).end] }
  end

  # The topics' ids.
  module Topics
    def self.origin(topic) = Skep::Kafka::Processing::OffsetOrigin.new("cluster", topic)
  end

  # The producer of one worker. Deliveries fail as the program says.
  class Output < Skep::Kafka::Testing::FakeProducer
    def initialize(run, cluster, transactional:)
      super([], transactional:)
      @run, @cluster = run, cluster
    end

    def begin_batch
      @error = nil
      @begun = []
    end

    def end_batch(partition, offset)
      raise @error if @error
      return false if transactional? && @run.lost?

      @error = @cluster.output_failure if @begun&.any?
      if @error
        @begun = nil
        @run.output_failed(@error)
        raise @error
      end
      payloads, @begun = @begun.to_a.map(&:payload), nil
      @cluster.transaction(partition.key, offset + 1, payloads) if transactional?
      true
    end

    def abort_batch = @begun = @error = nil
  end

  # The producers of a node.
  Outputs = Struct.new(:run, :cluster, :transactional) do
    def for_thread(node, _thread)
      Output.new(run, cluster, transactional:).tap { |producer| node.__lend(producer) }
    end
  end

  # A dead letter queue that asks the model.
  class DeadLetters < Skep::Kafka::Testing::FakeDeadLetterQueue
    attr_writer :run

    def put(message, error, attempts:, **)
      @run.dead_lettered(message, error, attempts)
      super
    end
  end
end
