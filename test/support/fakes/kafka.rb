# frozen_string_literal: true

module Fakes
  # Records the facts of a source, unless its channel is full.
  WorkRecorder = Struct.new(:given, :full) do
    def __report_work(facts, list:)
      facts.fetch(list)
      given << facts unless full
      !full
    end
  end
  stands_for WorkRecorder, "Skep::Swarm::Node", controls: %i[given full full=]

  # Records the current items, and counts the beats. __spot: the words of the scoreboard that C
  # writes.
  ProgressRecorder = Struct.new(:given, :beats, :__spot) do
    def current_item(number) = given << number
    def beat = self.beats = beats + 1
  end
  stands_for ProgressRecorder, "Skep::Swarm::Node", controls: %i[given beats]

  # An error, or a log line, of librdkafka.
  KafkaEvent = Struct.new(:kind, :code, :text) do
    def fatal? = false
    def no_token? = false
  end
  stands_for KafkaEvent, "Skep::Kafka::Librdkafka::EventQueue::Event"

  # Calls `resumed` when it is to read again.
  PartitionReader = Struct.new(:key, :resumed) do
    def resume = resumed.call
  end
  stands_for PartitionReader, "Skep::Kafka::Processing::PartitionReader", controls: %i[resumed]

  # A partition that may be revoked. resume_entry: where its next owner starts.
  OwnedPartition = Struct.new(:revocation, :resume_entry)
  stands_for OwnedPartition, "Skep::Kafka::Processing::AssignedPartition"

  # A work item that backs off.
  BackoffItem = Struct.new(:partition, :retry_at) do
    def wait_until(time, _awaiting = nil) = self.retry_at = time
  end
  stands_for BackoffItem, "Skep::Kafka::Processing::WorkItem"

  # A scheduler whose partitions are done up to these offsets, and so many behind them.
  DoneScheduler = Struct.new(:done) do
    def positions
      done.to_h { |topic, number, offset, beyond| [[topic, number], [offset, beyond.to_i]] }
    end

    def blocked_keys = []
  end
  stands_for DoneScheduler, "Skep::Kafka::Processing::Scheduler", controls: %i[done done=]

  # Records the flushes of a producer's client.
  FlushedClient = Struct.new(:flushes) do
    def flush(milliseconds) = flushes << milliseconds
  end
  stands_for FlushedClient, "Skep::Kafka::Librdkafka::ProducerClient", controls: %i[flushes]

  # A producer with a fatal error, or none; the block is called when it is asked for that.
  class Producer
    attr_reader :close_timeout

    def initialize(fatal, &on_fatal) = (@fatal, @on_fatal = fatal, on_fatal)
    def fatal = @on_fatal&.call || @fatal
    def close(timeout: nil) = @close_timeout = timeout
  end
  stands_for Producer, "Skep::Kafka::Producer", controls: %i[close_timeout]

  # Records what a worker's producer is asked for. answer: of end_batch, an exception is raised.
  class Outputs
    attr_reader :sealed, :aborted

    def initialize(atomic, answer)
      @atomic, @answer = atomic, answer
    end

    def transactional? = @atomic
    def abort_batch = @aborted = true

    def end_batch(_partition, offset)
      @sealed = offset
      @answer.is_a?(Exception) ? raise(@answer) : @answer
    end
  end
  stands_for Outputs, "Skep::Kafka::Producer::HandlerProducer", controls: %i[sealed aborted]

  # Records the offset that is stored to be committed.
  class OffsetStore
    attr_reader :stored

    def store(topic, number, offset, epoch = nil, _metadata = nil)
      @stored = [topic, number, offset, *epoch]
    end
  end
  stands_for OffsetStore, "Skep::Kafka::Consumer", controls: %i[stored]

  # Answers commits with these codes; the block is called at each.
  class CommittingConsumer
    attr_reader :commits

    def initialize(*codes, &block)
      @codes, @block, @commits = codes, block, []
    end

    def lost? = false

    def commit(offsets, _seconds)
      @commits.concat(offsets)
      @block&.call
      @codes.shift
    end
  end
  stands_for CommittingConsumer, "Skep::Kafka::Consumer", controls: %i[commits]

  # A consumer with the ends of partitions that it knows, and with answers to queries.
  class QueriedConsumer
    attr_reader :known
    attr_accessor :asked, :answers, :committed_offsets

    def initialize
      @known = {}
      @asked = []
      @answers = {}
      @committed_offsets = {}
    end

    def end_of(topic, number) = known[[topic, number]]
    def ends(keys, _) = (asked << [:ends, keys]) && answers.slice(*keys)

    def committed(keys, _)
      asked << [:committed, keys]
      committed_offsets && keys.to_h { |key| [key, committed_offsets[key]] }
    end

    def starts(keys, _) = (asked << [:starts, keys]) && keys.to_h { |key| [key, 0] }
  end
  stands_for QueriedConsumer, "Skep::Kafka::Consumer",
             controls: %i[known asked asked= answers answers= committed_offsets committed_offsets=]

  # Messages in the order in which they are read.
  class PartitionQueue < Array
    attr_reader :position

    def read(limit)
      some = shift(limit)
      @position = @passed if @passed && empty?
      [Skep::Kafka::Librdkafka::MessageSet.new(some), [], some.size]
    end

    # Records that aren't messages end at that offset: the position, once all is read.
    def pass(offset) = @passed = offset

    def notify(_pipe, _id) = nil
    def low_watermark = nil
    def leader_epoch = nil
    def close = nil
  end
  stands_for PartitionQueue, "Skep::Kafka::Librdkafka::PartitionQueue", controls: %i[pass]
end
