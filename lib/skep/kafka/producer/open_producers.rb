# frozen_string_literal: true

# The producers of this process that nobody has closed yet: at its exit they are. What is on its way
# has some seconds then, and what couldn't be delivered is told.
#
#   OpenProducers.add(producer)
#   OpenProducers.delete(producer)
#
# A process that ends by exit!, or is killed, tells nobody.
module Skep
  module Kafka
    class Producer
      module OpenProducers
        SECONDS = 5.0 # for all of them
        private_constant :SECONDS

        @all = {}.compare_by_identity
        @lock = Mutex.new

        class << self
          def add(producer) #: (Producer) -> void
            @lock.synchronize do
              at_exit { close } unless @waits
              @waits = @all[producer] = true
            end
          end

          def delete(producer) #: (Producer) -> void
            @lock.synchronize { @all.delete(producer) }
          end

          private

          # Runs in a forked child, too, where those of its parent do nothing.
          def close
            deadline = OS.now + SECONDS
            @all.keys.each { |producer| producer.close(timeout: [deadline - OS.now, 0].max) }
          end
        end
      end
    end
  end
end
