# frozen_string_literal: true

# Messages that are written one by one to all partitions in turn, while a server handles them, and
# what has become of each.
#
#   traffic = Traffic.new(run, partitions: 4)
#   traffic.begin(patience: 120)           # until each worker has handled some, and few wait
#   traffic.flow(6)                        # for so many seconds
#   traffic.send_word("poison", 0)         # another payload, to that partition
#   traffic.recovers?(since:, patience: 60) { over? }
#   traffic.longest_wait                   # seconds, of the messages since then
#   traffic.wait(0.99)                     # that 99 of 100 of them don't exceed
#   traffic.twice                          # messages that were handled again since then
#   traffic.count("poison")                # how often that payload was handled
module Skep
  module Benchmarks
    class Faults
      class Traffic
        PAUSE = 0.02 # seconds between two messages
        AFTER = 2.0 # seconds of messages after the fault is over, all of which must be handled
        BEFORE = 1.0 # and before it
        FEW = 25 # messages that may wait when the fault is planted: half a second's
        private_constant :PAUSE, :AFTER, :BEFORE, :FEW

        attr_reader :last_pid # of the process that has handled the last message
        attr_reader :workers # the pids of all that have handled one

        def initialize(run, partitions:)
          @run, @partitions = run, partitions
          kafka, topic = run.wishes.values_at(:kafka, :topic)
          @feed = Skep::Kafka::Testing::TopicSeeder.new(kafka.fetch("bootstrap.servers"), topic)
          @sent = {} # the numbered ones: the time when it was in the topic, by payload
          @handled = Hash.new { |handled, payload| handled[payload] = [] } # the times
          @workers = []
          @due = OS.now
        end

        def begin(patience:)
          started = lambda do
            @workers.size == @run.wishes[:workers] && @handled.size >= 2 * @partitions &&
              waiting <= FEW
          end
          flow(patience, &started) or
            raise Program::Failed, "#{@workers.size} workers have messages after #{patience} s, " \
                                   "and #{waiting} messages wait: #{@run.last_error}"
        end

        # Writes and reads, until the block returns true or so many seconds are over.
        def flow(seconds)
          deadline = OS.now + seconds
          until (reached = block_given? && yield) || OS.now > deadline
            send_next if OS.now >= @due
            receive([@due, deadline].min)
          end
          reached
        end

        def send_word(payload, partition) = @feed.publish([[nil, payload, partition]])

        def close = @feed.close

        def count(payload) = @handled.fetch(payload, []).size

        # Returns whether all messages from shortly before that time until shortly after the block
        # has returned true have been handled within so many seconds.
        def recovers?(since:, patience:)
          @since = since
          over = nil
          flow(patience) do
            @until = over ||= (OS.now if yield)
            over && OS.now > over + AFTER && (watched - @handled.keys).empty?
          end
        end

        def longest_wait = waits.max
        def wait(share) = waits.sort[(share * waits.size).ceil - 1]

        def twice
          times = @handled.slice(*@sent.keys).values
          times.count { |all| all.size > 1 && all.last > @since }
        end

        private

        def send_next
          payload = @sent.size.to_s
          send_word(payload, @sent.size % @partitions)
          @sent[payload] = OS.now
          @due = OS.now + PAUSE
        end

        def waiting = @sent.size - @handled.size
        def waits = watched.map { |payload| @handled[payload].first - @sent[payload] }

        # Returns the payloads of the messages around the fault.
        def watched
          around = (@since - BEFORE)..(@until + AFTER)
          @sent.select { |_, at| around.cover?(at) }.keys
        end

        def receive(deadline)
          come = @run.arrival(deadline - OS.now) or return
          @handled[come.word] << come.at
          @workers |= [@last_pid = come.pid]
        end
      end
      private_constant :Traffic
    end
  end
end
