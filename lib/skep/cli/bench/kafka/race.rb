# frozen_string_literal: true

# Times a reader from the first that each of its processes tells: so many messages from there on.
#
#   Race.new(kept, 1_800_000).figures
#   # => {"messages/s" => …, "CPU µs" => …, "Ruby µs" => …, "peak MiB" => …}
#
# CPU is that of the reading processes, all their threads; "Ruby" that of all but librdkafka's own.
# A process tells how many it has read now and then, not each.
module Skep
  module CLI
    class Bench
      class Kafka
        class Race
          PATIENCE = 60.0
          MIB = 1024.0 # of the KiB that the kernel tells
          private_constant :PATIENCE, :MIB

          def initialize(kept, messages) #: (Keeping, Integer) -> void
            @kept, @messages = kept, messages
            @read = {}
          end

          def figures #: () -> Hash[String, Float]
            began = hear while @read.size < @kept.wishes[:workers]
            before = [done, *spent]
            ended = hear while done < before.first + @messages
            read, cpu, ruby = [done, *spent].zip(before).map { |late, early| late - early }
            { "messages/s" => read / (ended - began), "CPU µs" => cpu * 1e6 / read,
              "Ruby µs" => ruby * 1e6 / read, "peak MiB" => peak }
          end

          private

          # When a process said how many it has read.
          def hear
            come = @kept.arrival(PATIENCE) or
              raise Program::Failed, "nothing was read for #{PATIENCE.round} s"
            @read[come.pid] = come.word.to_i
            come.at
          end

          def done = @read.values.sum

          # Seconds of all threads, and of those that aren't librdkafka's.
          def spent
            threads = @read.keys.flat_map { |pid| Dir["/proc/#{pid}/task/*"] }
            [threads, threads.reject { |path| File.read("#{path}/comm").start_with?("rdk:") }]
              .map { |some| some.sum { |path| File.read("#{path}/schedstat").to_i } / 1e9 }
          end

          def peak
            statuses = @read.keys.map { |pid| File.read("/proc/#{pid}/status") }
            statuses.sum { |status| status[/^VmHWM:\s+(\d+)/, 1].to_i } / MIB
          end
        end
        private_constant :Race
      end
    end
  end
end
