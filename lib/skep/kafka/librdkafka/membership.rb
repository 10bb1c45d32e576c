# frozen_string_literal: true

# How a consumer leaves its group: for a time, or for good. A static member that closes keeps its
# place, until somebody comes by its name or its session has ended.
#
#   consumer.stays?                   # will closing keep its place?
#   consumer.withdraw(10) { |event| … }   # so it leaves for good
#   consumer.leave(10) { |event| … }      # and closes
#
# For a Client that reads from a group.
module Skep
  module Kafka
    module Librdkafka
      module Membership
        LOOK_EVERY = 0.05 # seconds; librdkafka doesn't tell when it has joined or left
        private_constant :LOOK_EVERY

        # (In the protocol of KIP-848 librdkafka can't do otherwise, where members have names.)
        def stays? = @stays ? true : false #: () -> bool

        # Leaves the group for good, also as a static member, serving the last revocation, for so
        # many seconds at most. Before `leave`.
        def withdraw(seconds, &) #: (Numeric) { (EventQueue::Event) -> void } -> void
          return if @withdrawn

          # What wishes to join must be let in first, or it would be a member from then on. (Where
          # its topics don't exist it never will be.)
          @withdrawn = true
          deadline = OS.now + (seconds / 2)
          serve_until(deadline, &) while !member? && OS.now < deadline
          deadline += seconds / 2
          check(Bindings.unsubscribe(handle), "leaving the group")
          serve_until(deadline, &) while member? && OS.now < deadline
        end

        # Leaves the group if it must (a static member doesn't), serving the last revocation, for so
        # many seconds at most. Has it?
        def leave(seconds, &) #: (Numeric) { (EventQueue::Event) -> void } -> bool
          deadline = OS.now + seconds
          check_error(Bindings.consumer_close_queue(handle, control.pointer),
                      "closing the consumer")
          until (closed = Bindings.consumer_closed(handle) == 1) || (left = deadline - OS.now).negative?
            control.wait([left, 0.1].max) { |event| hear_last(event, &) }
          end
          closed
        end

        private

        # Who leaves in the midst of a rebalance is asked twice to give up what it has. The first
        # answer is taken for everything; for another one librdkafka has nobody left, and whoever
        # gives it may wait for ever.
        def hear_last(event)
          return if event.kind == :rebalance && @answered

          yield event
          @answered ||= event.kind == :rebalance
        end

        def serve_until(deadline, &)
          control.wait((deadline - OS.now).clamp(0, LOOK_EVERY), &)
        end

        # Does the group know it? It has an id then, from the answer to its wish to join until it
        # says that it leaves.
        def member?
          id = Bindings.memberid(handle)
          !id.null? && !id.read_string.empty?
        ensure
          Bindings.mem_free(handle, id) if id
        end
      end
    end
  end
end
