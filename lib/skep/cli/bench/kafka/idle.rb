# frozen_string_literal: true

# How often a second a reader's process wakes up whose partitions are all at their end.
#
#   Idle.new(kept, 20).figures   # => {"wake-ups/s" => 3.1, "all threads" => 11.3}
#
# Wake-ups are voluntary context switches. The first figure is of Ruby's threads and of librdkafka's
# that fetch, one for each broker with a number. The others are librdkafka's housekeeping: timers,
# the group's heartbeats, the addresses it began with.
module Skep
  module CLI
    class Bench
      class Kafka
        class Idle
          START = 60.0 # seconds
          CALM = 12.0 # seconds until a node has reported that nothing happens any more
          HOUSEKEEPING = /\AName:\s+rdk:(?!broker\d)/
          private_constant :START, :CALM, :HOUSEKEEPING

          def initialize(kept, seconds) #: (Keeping, Numeric) -> void
            @kept, @seconds = kept, seconds
          end

          def figures #: () -> Hash[String, Float]
            first = @kept.arrival(START) or
              raise Program::Failed, "nothing was read for #{START.round} s"
            pid = first.pid
            @kept.settle(CALM)
            before = wakes(pid)
            @kept.settle(@seconds)
            rates = wakes(pid).zip(before).map { |late, early| (late - early).fdiv(@seconds) }
            %w[wake-ups/s all\ threads].zip(rates).to_h
          end

          private

          def wakes(pid)
            threads = Dir["/proc/#{pid}/task/*/status"].map { |path| File.read(path) }
            reading = threads.reject { |status| status.match?(HOUSEKEEPING) }
            [reading, threads].map do |some|
              some.sum { |status| status[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
            end
          end
        end
        private_constant :Idle
      end
    end
  end
end
