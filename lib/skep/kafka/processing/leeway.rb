# frozen_string_literal: true

# Free slots in Ruby's heap for what reading makes: a Message and its payload for each message,
# garbage a moment later.
#
#   leeway = Leeway.new
#   leeway.passed(batch)     # a batch was worked on; makes the slots, once there were enough
#
# Ruby keeps a fifth of its slots free. Who fills that fifth many times a second collects as often;
# and as soon as one such collection frees less than the fifth, Ruby looks through all that the
# application has loaded. Together that may be a third of what a message costs. Slots once made
# stay while less than two thirds of all are free.
#
# They are made by making what this batch holds again and again: newer Rubies keep slots of several
# sizes. A node that reads little never does it.
module Skep
  module Kafka
    module Processing
      class Leeway
        AFTER = 50_000 # messages
        MESSAGES = 50_000 # for so many
        BYTES = 16 << 20 # at most: large payloads aren't what fills a heap
        private_constant :AFTER, :MESSAGES, :BYTES

        #: (?after: Integer, ?messages: Integer) -> void
        def initialize(after: AFTER, messages: MESSAGES)
          @left = after
          @messages = messages
          @lock = Mutex.new
        end

        def passed(batch) #: (Batch) -> void
          make(batch) if !@made && due?(batch.size)
        end

        # Have the slots been made?
        def made? = @made ? true : false #: () -> bool

        def inspect = "#<Skep::Kafka::Processing::Leeway #{"made" if made?}>" #: () -> String

        private

        def due?(size)
          @lock.synchronize do
            @left -= size
            @made = true if !@made && @left <= 0
          end
        end

        # A collection amid this would find all of them alive, and age them.
        def make(batch)
          off = GC.disable
          objects = []
          rounds(batch).times { objects << batch.payloads << Array.new(batch.size) { Object.new } }
        ensure
          GC.enable unless off
        end

        def rounds(batch) = [@messages / batch.size, BYTES / (batch.__bytes + 1)].min
      end
    end
  end
end
