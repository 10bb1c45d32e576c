# frozen_string_literal: true

# Has Ruby's heap grow by free object slots for what a node that reads much makes: a Message and its
# payload for each message, garbage a moment later.
#
#   FreeSlots.make_for(batch)   # a worker calls it once it has processed FreeSlots::MESSAGES
#
# After a collection Ruby has a fifth of its slots free. Filling that fifth takes some 20,000
# messages, so that at full speed each collection is only tens of milliseconds after the last. With
# room for more the handler's thread takes an eighth less CPU for a message (`bin/bench kafka`).
# Ruby has no method to ask for slots, so objects like those of the batch are made, and dropped.
# Ruby keeps such slots while less than two thirds of all are free.
module Skep
  module Kafka
    module FreeSlots
      MESSAGES = 50_000
      BYTES = 16 << 20 # at most, of payloads: large ones aren't what fills the heap
      private_constant :BYTES

      # A collection meanwhile would find all of these objects in use, and keep them longer.
      def self.make_for(batch, messages: MESSAGES)
        disabled = GC.disable
        rounds = [messages / batch.size, BYTES / (batch.__bytes + 1)].min
        Array.new(rounds) { [batch.payloads, Array.new(batch.size) { Object.new }] }
      ensure
        GC.enable unless disabled
      end
    end
    private_constant :FreeSlots
  end
end
