# frozen_string_literal: true

# What a node has seen of one partition since it began: counts that only ever grow, how long the
# handler took, and how much is left to do. It outlives the partition's time with this node.
#
#   gauge.time(first_offset) { handler.call(batch, child) }
#   gauge.count(:messages, 500)
#   gauge.look(turn, position, begin_, end_)   # where it stands now
#   gauge.sample(now)                    # for the rate
#   gauge.to_plain                       # => a row of `skep status --json`
#
# Its methods may be called from any thread.
module Skep
  module Kafka
    module Metrics
      class PartitionMetrics
        COUNTS = %i[messages batches retries dead_letters skipped filtered rebalances].freeze
        WINDOW = 10.0 # seconds to which a rate refers
        SAMPLE = 0.5 # between two looks that are remembered
        private_constant :WINDOW, :SAMPLE

        attr_reader :held #: bool, has the node the partition now?
        attr_reader :turn #: Integer, how often it came or went
        attr_reader :lag #: Integer?, messages to do; nil: not ours, or not known yet
        attr_reader :rate #: Float, messages a second of late

        def initialize(topic, number, now) #: (String, Integer, Float) -> void
          @topic, @number = topic, number
          @counts = COUNTS.to_h { |name| [name, 0] }
          @durations = Swarm::Stats::Histogram.new
          @samples = [[now, 0]]
          @rate = 0.0
          @turn = 0
          @lock = Mutex.new
        end

        def count(name, number = 1) #: (Symbol, ?Integer) -> void
          @lock.synchronize { @counts[name] += number }
        end

        # Runs the handler for what begins at that offset.
        def time(offset) #: (Integer) { () -> untyped } -> untyped
          @begun ||= offset
          began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          yield
        ensure
          took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
          @lock.synchronize do
            @durations.add(took)
            @counts[:batches] += 1
          end
        end

        # It is the node's from here on, or isn't.
        def held=(held) #: (bool) -> void
          @lock.synchronize do
            @held = held
            @turn += 1
            @position = @end = @lag = @begun = nil
          end
        end

        # Has something of it been in the handler's hands?
        def begun? = !@begun.nil? #: () -> bool

        # position: the offset to go on with, nil where nothing is done yet; begin_: where its work
        # begins; end_: after the last message there is. Each may be unknown. All of it is of this
        # turn: where the partition has gone since, it says nothing.
        #: (Integer, Integer?, Integer?, Integer?) -> void
        def look(turn, position, begin_, end_)
          @lock.synchronize do
            next unless held && turn == @turn

            @end = end_
            @position = position || @begun || begin_
            @lag = @end && @position && [@end - @position, 0].max
          end
        end

        # That of what isn't held changes too: it goes down.
        def sample(now) #: (Float) -> void
          messages = @lock.synchronize { @counts[:messages] }
          @samples << [now, messages] if now - @samples.last.first >= SAMPLE
          @samples.shift while @samples.size > 2 && @samples[1].first <= now - WINDOW
          since, before = @samples.first
          @rate = now > since ? ((messages - before) / (now - since)).round(1) : 0.0
        end

        # When its rate will have come down if nothing more is done, in monotonic seconds.
        #: () -> Float?
        def settles_at = rate.zero? ? nil : @samples.last.first + WINDOW + SAMPLE

        # One that only came and went says nothing.
        def tells? = held || @counts[:batches].positive? #: () -> bool

        def counts = @lock.synchronize { @counts.dup } #: () -> Hash[Symbol, Integer]

        def durations #: () -> Hash[String, untyped]
          @lock.synchronize do
            next @told if @told && @told["count"] == @durations.count

            @told = @durations.to_plain.freeze
          end
        end

        def to_plain #: () -> Hash[String, untyped]
          { "topic" => @topic, "partition" => @number, "held" => held ? true : false,
            "position" => @position, "end" => @end, "lag" => lag, "rate" => rate,
            **counts.transform_keys(&:to_s), "handler" => durations }
        end

        def inspect
          "#<Skep::Kafka::Metrics::PartitionMetrics #{@topic}/#{@number} lag=#{lag.inspect}>"
        end #: () -> String
      end
    end
  end
end
