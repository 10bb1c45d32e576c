# frozen_string_literal: true

module Skep
  class Guest
    # Reports what each of a server's threads works at: the supervisor ends a node in which one of
    # them takes too long, and logs what was in flight in a node that died.
    #
    #   in_flight = InFlight.new(node, threads: 5)
    #   in_flight.run("GET /orders", 300) { … }    # on any thread, at most five at a time
    #
    # A server may have more threads than it said. Those beyond that number aren't watched.
    class InFlight
      FOREVER = 10 * 365 * 86_400 # seconds
      private_constant :FOREVER

      def initialize(node, threads:)
        @free = Thread::Queue.new
        (1..threads).each { |number| @free.push(node.thread(number)) }
      end

      # longest: how many seconds the block may take; nil: there is no limit.
      def run(name, longest)
        node = take or return yield

        begin
          node.in_flight(name)
          node.busy(for: longest || FOREVER) { yield }
        ensure
          node.processed
          node.in_flight(nil)
          @free.push(node)
        end
      end

      private

      def take
        @free.pop(true)
      rescue ThreadError # none is free
        nil
      end
    end
  end
end
