# frozen_string_literal: true

require "open3"

# kcat reads the topic to its end: C with the same library, in one process, without a group.
#
#   Kcat.new(cluster.address, "bench", 2_000_000, "%s\n", Cluster::SETTINGS).figures
#   # => {"messages/s" => …, "CPU µs" => …}
#   Kcat.version   # => "kcat 1.7.1 (librdkafka 2.16.0)"
#
# It runs on the librdkafka of the gem karafka-rdkafka, as skep does, because distributions have an
# older one: the dynamic linker takes the functions of a preloaded library (ld.so(8)). `version` is
# asked in the same way, so it is the one that reads.
#
# As with the other subjects, 90% of the messages are timed, without the first and the last: the
# time that the first 5% take is subtracted from that of 95%. Its start isn't counted, then, nor the
# wait for the news that a partition has no more (up to fetch.wait.max.ms). Settings that its
# librdkafka doesn't know are left out: it may be older than the gem's.
module Skep
  module Benchmarks
    class Kafka
      class Kcat
        SECONDS = 120
        FIRST = 0.05 # share of the messages that isn't timed, and as many at the end
        private_constant :SECONDS, :FIRST

        class << self
          def missing = version ? nil : "kcat isn't there: apt-get install kcat"

          def version
            text, = Open3.capture2e(environment, "kcat", "-V")
            "kcat #{text[/Version (\S+)/, 1]} (librdkafka #{text[/librdkafka (\S+)/, 1]})"
          rescue Errno::ENOENT
            nil
          end

          def environment
            require "skep/kafka"
            { "LD_PRELOAD" => Skep::Kafka::Librdkafka::Bindings.library }
          rescue Skep::Kafka::MissingGem
            {}
          end

          # Returns the settings that its librdkafka knows.
          def known(settings)
            text, = Open3.capture2e(environment, "kcat", "-X", "list")
            names = text.scan(/^([a-z0-9_.]+)\s+\|/).flatten
            settings.slice(*names)
          end
        end

        def initialize(address, topic, messages, format, settings = {})
          more = Kcat.known(settings).flat_map { |name, value| ["-X", "#{name}=#{value}"] }
          @command = ["kcat", "-C", "-q", "-b", address, "-t", topic,
                      "-o", "beginning", "-f", format, *more]
          @messages = messages
        end

        def figures
          some, most = [FIRST, 1 - FIRST].map { |share| (@messages * share).round }
          seconds, cpu = run(most).zip(run(some)).map { |long, short| long - short }
          { "messages/s" => (most - some) / seconds, "CPU µs" => cpu * 1e6 / (most - some) }
        end

        private

        # Reads so many messages; returns the elapsed seconds and the CPU seconds.
        def run(count)
          before = spent
          began = OS.now
          pidfd = Skep.pidfd(Process.spawn(Kcat.environment, *@command, "-c", count.to_s,
                                             in: File::NULL, %i[out err] => File::NULL))
          status = pidfd.wait(timeout: SECONDS)
          raise Program::Failed, "kcat ended with #{status || "nothing"}" unless status&.success?

          [OS.now - began, spent - before]
        ensure
          finish(pidfd)
        end

        def spent = Process.times.then { |times| times.cutime + times.cstime }

        def finish(pidfd)
          pidfd.signal(:KILL) && pidfd.wait if pidfd.alive?
          pidfd.close
        end
      end
      private_constant :Kcat
    end
  end
end
