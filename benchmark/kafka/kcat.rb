# frozen_string_literal: true

require "open3"

# kcat reads the topic to its end: C with the same library, in one process, without a group.
#
#   Kcat.new(cluster.address, "bench", 2_000_000, "%s\n", Cluster::SETTINGS).figures
#   # => {"messages/s" => …, "CPU µs" => …}
#   Kcat.version   # => "kcat 1.7.1 (librdkafka 2.14.2)"
#
# Its start isn't counted: the time for one message is subtracted. Settings that its librdkafka
# doesn't know are left out: it may be older than the gem's.
module Skep
  module Benchmarks
    class Kafka
      class Kcat
        SECONDS = 120
        private_constant :SECONDS

        class << self
          def missing = version ? nil : "kcat isn't there: apt-get install kcat"

          def version
            text, = Open3.capture2e("kcat", "-V")
            "kcat #{text[/Version (\S+)/, 1]} (librdkafka #{text[/librdkafka (\S+)/, 1]})"
          rescue Errno::ENOENT
            nil
          end

          # Returns the settings that its librdkafka knows.
          def known(settings)
            text, = Open3.capture2e("kcat", "-X", "list")
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
          all, one = [["-e"], ["-c", "1"]].map { |how| run(how) }
          seconds, cpu = all.zip(one).map { |long, short| long - short }
          { "messages/s" => (@messages - 1) / seconds, "CPU µs" => cpu * 1e6 / (@messages - 1) }
        end

        private

        # Returns the elapsed seconds and the CPU seconds.
        def run(how)
          before = spent
          began = OS.now
          pidfd = Skep.pidfd(Process.spawn(*@command, *how, in: File::NULL,
                                                            %i[out err] => File::NULL))
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
