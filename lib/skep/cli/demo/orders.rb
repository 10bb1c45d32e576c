# frozen_string_literal: true

# The messages of the demo, orders of an imaginary shop as [key, payload], made as fast as they are
# allowed.
#
#   inbox.push(500)                                     # up to 500 may be made
#   orders = Orders.new(2_000, inbox)
#   orders.each { |key, payload| … }   # waits then for a higher number; Stopped if none comes
#   orders.made                        # => how many have been given out
module Skep
  module CLI
    class Demo
      class Orders
        include Enumerable

        BYTES = 240 # a payload has no more
        OVERHEAD = 80 # of a message in a partition: key, headers, and the batch around it
        CUSTOMERS = 1_000
        GOODS = %w[beeswax candle comb frame heather-honey hive-tool pollen propolis smoker].freeze
        private_constant :CUSTOMERS, :GOODS

        # The inbox was closed before all orders were made.
        class Stopped < Skep::Error
        end

        attr_reader :made #: Integer

        # allowances: an inbox of how many may be made.
        def initialize(count, allowances) #: (Integer, Threads::Inbox) -> void
          @count = count
          @allowances = allowances
          @made = 0
        end

        def each #: () { ([String, String]) -> void } -> void
          limit = 0
          @count.times do |id|
            limit = @allowances.pop || raise(Stopped) while id >= limit
            yield order(id)
            @made = id + 1
          end
        end

        private

        def order(id)
          customer = format("customer-%03d", id % CUSTOMERS)
          items = Array.new(1 + (id % 3)) { |line| item(id + line) }
          [customer, JSON.generate({ id:, customer:, items: })]
        end

        def item(number)
          { goods: GOODS[number % GOODS.size], count: 1 + (number % 5), cents: 25 + (number % 999) }
        end
      end
      private_constant :Orders
    end
  end
end
