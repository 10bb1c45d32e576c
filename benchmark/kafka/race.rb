# frozen_string_literal: true

# Times a reader for so many messages, from the first report of each of its processes, or of one of
# them: a group whose members join one after the other.
#
#   Race.new(run, 1_800_000).figures
#   Race.new(run, 1_800_000, starters: 1).figures
#   # => {"messages/s" => …, "CPU µs" => …, "Ruby µs" => …, "peak MiB" => …}
#
# CPU is that of all threads of the reading processes, "Ruby" that of all threads but librdkafka's.
# A process reports its count of messages at intervals.
module Skep
  module Benchmarks
    class Kafka
      class Race
        PATIENCE = 60.0
        MIB = 1024.0 # of the KiB that the kernel reports
        private_constant :PATIENCE, :MIB

        def initialize(run, messages, starters: run.wishes[:workers])
          @run, @messages, @starters = run, messages, starters
          @read = {}
        end

        def figures
          began = receive_report while @read.size < @starters
          before = [done, *spent]
          ended = receive_report while done < before.first + @messages
          read, cpu, ruby = [done, *spent].zip(before).map { |late, early| late - early }
          { "messages/s" => read / (ended - began), "CPU µs" => cpu * 1e6 / read,
            "Ruby µs" => ruby * 1e6 / read, "peak MiB" => peak }
        end

        private

        # Takes the next report of a process. Returns its time.
        def receive_report
          come = @run.arrival(PATIENCE) or
            raise Program::Failed, "nothing was read for #{PATIENCE.round} s"
          @read[come.pid] = come.word.to_i
          come.at
        end

        def done = @read.values.sum

        # Returns the CPU seconds of all threads, and of those that aren't librdkafka's.
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
