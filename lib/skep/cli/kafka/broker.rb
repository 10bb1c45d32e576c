# frozen_string_literal: true

module Skep
  module CLI
    class Kafka < Command
      # A broker for as long as a command runs: librdkafka's mock cluster, nothing to install and
      # nothing kept. Each line of the input becomes a message of the first topic, in turns over its
      # partitions.
      #
      #   Broker.new(["orders:8", "orders.dead"], ["skep", "run", "swarm.rb"], input: $stdin).run
      #
      # The command finds it by BROKERS in its environment, and by KAFKA, JSON with all of
      # librdkafka's settings that suit it. It has a process group of its own: what this one is sent
      # by a terminal or a person it is sent once.
      class Broker
        PARTITIONS = 4
        SIGNALS = %w[INT TERM QUIT HUP].freeze
        TOPIC = /\A([\w.-]+)(?::([1-9]\d*))?\z/
        private_constant :PARTITIONS, :SIGNALS, :TOPIC

        #: (Array[String], Array[String], input: IO) -> void
        def initialize(topics, command, input:)
          @topics = topics.to_h { |text| topic(text) }
          @command = command
          @input = input
          @rest = +""
          @sent = 0
        end

        # Runs the command to its end; its exit code.
        def run #: () -> Integer
          @broker = ::Skep::Kafka::EmbeddedBroker.start(topics: @topics)
          @feed = ::Skep::Kafka::Testing::TopicSeeder.new(@broker.bootstrap_servers,
                                                          @topics.keys.first)
          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @pidfd = Skep.pidfd(start)
          follow
        ensure
          @pidfd&.then { |pidfd| leave(pidfd) }
          @signals&.release
          @feed&.close
          @broker&.stop
        end

        private

        # It isn't to go on without its broker.
        def leave(pidfd)
          pidfd.signal(:TERM) if pidfd.alive?
          pidfd.wait
        rescue Errno::ESRCH # it has ended just now
          nil
        ensure
          pidfd.close
        end

        def topic(text)
          name, partitions = TOPIC.match(text)&.captures
          raise Misuse, "#{text.inspect} is no topic: write NAME or NAME:PARTITIONS" unless name

          [name, Integer(partitions || PARTITIONS)]
        end

        def start
          env = { "BROKERS" => @broker.bootstrap_servers,
                  "KAFKA" => JSON.generate(@broker.settings) }
          Process.spawn(env, *@command, in: File::NULL, pgroup: true)
        rescue SystemCallError => e
          raise Misuse, "can't run #{@command.first}: #{e.message.sub(/ - .*/, "").downcase}"
        end

        def follow
          loop do
            ready, = IO.select([@pidfd.to_io, @signals, @input].compact)
            return code(@pidfd.wait) if ready.include?(@pidfd.to_io)

            pass_on if ready.include?(@signals)
            take if ready.include?(@input)
          end
        end

        def pass_on
          @signals.take.each { |name| @pidfd.signal(name) }
        rescue Errno::ESRCH # it has ended just now
          nil
        end

        # What has come of the input; a last line may have no end.
        def take
          bytes = @input.read_nonblock(65_536, exception: false)
          return if bytes == :wait_readable

          *lines, @rest = bytes ? (@rest + bytes).split("\n", -1) : [*@rest, nil]
          @input = nil unless bytes
          publish(lines.reject(&:empty?))
        end

        def publish(lines)
          partitions = @topics.values.first
          @feed.publish(lines.map { |line| [nil, line, (@sent += 1) % partitions] })
        end

        def code(status) = status.exitstatus || (128 + status.termsig)
      end
      private_constant :Broker
    end
  end
end
