# frozen_string_literal: true

# Notices that transactions of this node have committed offsets: librdkafka reports its own
# commits as events, but not those. Then it asks which offsets the group has.
#
#   commits = TransactionCommits.new(consumer, scheduler, group: "billing")
#   commits.seconds_left
#   commits.look      # every 5 s; => true if some have committed since, and it asks
#   commits.io        # readable when there is an answer
#   commits.entries   # => [["orders", 0, 42, 0], …] with offsets and error codes
#   commits.close
module Skep
  module Kafka
    class Consumer
      class TransactionCommits
        INTERVAL = 5.0 # seconds
        private_constant :INTERVAL

        # Returns nil for a source without transactions.
        def self.for(options, consumer, scheduler)
          new(consumer, scheduler, group: options.group) if options.transactional
        end

        def initialize(consumer, scheduler, group:, interval: INTERVAL)
          @consumer, @scheduler, @group, @interval = consumer, scheduler, group, interval
          @answers = consumer.queue
          @places = []
          @due = OS.now + interval
        end

        def io = @answers.io
        def seconds_left = ([@due - OS.now, 0].max unless @asked)

        def look
          return false if @asked || OS.now < @due

          @due = OS.now + @interval
          before, @places = @places, @scheduler.positions.map { |key, (offset)| [*key, offset] }
          changed = @places - before
          ask(changed.map { |entry| entry.first(2) }) if changed.any?
          changed.any?
        end

        # Returns what the group has. The next `look` asks again for what isn't known.
        def entries
          @answers.enum_for(:drain).flat_map do |event|
            found = event.code.zero? ? Librdkafka::AdminRequests.group_offsets_in(event) : []
            known = found.select { |_, _, offset, code| code.zero? && offset >= 0 }
            forget(@asked - known.map { |entry| entry.first(2) })
            @asked = nil
            found
          end
        end

        # Sends no further request.
        def close
          @asked = []
          @answers.close
        end

        def inspect = "#<Skep::Kafka::Consumer::TransactionCommits every #{@interval} s>"

        private

        def ask(keys)
          Librdkafka::AdminRequests.group_offsets(
            @consumer, @answers, @group, keys, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @asked = keys
        end

        # The coordinator may answer before it has stored the offset of a transaction.
        def forget(keys) = @places.reject! { |place| keys.include?(place.first(2)) }
      end
    end
  end
end
