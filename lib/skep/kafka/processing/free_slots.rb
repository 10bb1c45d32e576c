# frozen_string_literal: true

# Has Ruby's heap grow by free slots for what a node that reads much makes: a Message and its
# payload for each message, garbage a moment later.
#
#   free_slots = FreeSlots.new
#   free_slots.batch_done(batch)   # true once the slots are there; not to be called any more
#
# After a collection Ruby has a fifth of its slots free. Filling that fifth takes some 20,000
# messages, so that at full speed each collection is only tens of milliseconds after the last. With
# room for more the handler's thread takes an eighth less CPU for a message (`bin/bench kafka`).
# Ruby has no method to ask for slots, so objects like those of the batch are made, and dropped.
# Ruby keeps such slots while less than two thirds of all are free.
module Skep
  module Kafka
    module Processing
      class FreeSlots
        MESSAGES = 50_000 # made once so many are done, for so many
        BYTES = 16 << 20 # at most, of payloads: large ones aren't what fills the heap
        private_constant :MESSAGES, :BYTES

        def initialize(messages: MESSAGES)
          @messages = messages
          @done = 0
        end

        def batch_done(batch)
          @done += batch.size
          return false if @done < @messages

          grow(batch)
          true
        end

        private

        # A collection meanwhile would find all of these objects in use, and keep them longer.
        def grow(batch)
          disabled = GC.disable
          rounds = [@messages / batch.size, BYTES / (batch.__bytes + 1)].min
          Array.new(rounds) { [batch.payloads, Array.new(batch.size) { Object.new }] }
        ensure
          GC.enable unless disabled
        end
      end
      private_constant :FreeSlots
    end
  end
end
