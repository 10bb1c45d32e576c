# frozen_string_literal: true

# Wake-ups a second of a reader's process that has read all its partitions to their end, and what
# CPU it takes.
#
#   Idle.new(run, 20, calm: 35).figures
#   # => {"wake-ups/s" => 3.1, "all threads" => 11.3, "CPU %" => 0.2}
#
# Wake-ups are voluntary context switches. The first figure counts Ruby's threads and librdkafka's
# fetching threads, one for each broker with an id. The others are librdkafka's housekeeping:
# timers, the group's heartbeats, the bootstrap addresses.
module Skep
  module Benchmarks
    class Kafka
      class Idle
        START = 60.0 # seconds
        HOUSEKEEPING = /\AName:\s+rdk:(?!broker\d)/
        private_constant :START, :HOUSEKEEPING

        # calm: seconds until a node has reported its idle state and librdkafka's first statistics.
        def initialize(run, seconds, calm:)
          @run, @seconds, @calm = run, seconds, calm
        end

        def figures
          first = @run.arrival(START) or
            raise Program::Failed, "nothing was read for #{START.round} s"
          pid = first.pid
          @run.settle(@calm)
          before = [*wakes(pid), spent(pid)]
          @run.settle(@seconds)
          after = [*wakes(pid), spent(pid)]
          rates = after.zip(before).map { |late, early| (late - early).fdiv(@seconds) }
          ["wake-ups/s", "all threads", "CPU %"].zip(rates).to_h
        end

        private

        # Returns the CPU time of all threads, in hundredths of a second.
        def spent(pid)
          Dir["/proc/#{pid}/task/*/schedstat"].sum { |path| File.read(path).to_i } / 1e7
        end

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
