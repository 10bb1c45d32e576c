# frozen_string_literal: true

module Skep
  module Kafka
    class Command
      # An embedded broker (librdkafka's mock cluster) that lives as long as a command runs. It
      # keeps nothing. Each line of the input becomes a message of the first topic; the lines go to
      # its partitions in turn.
      #
      #   command = ["skep", "run", "swarm.rb"]
      #   EmbeddedBrokerRun.new(["orders:8"], command, input: $stdin, err: $stderr).run
      #
      # The command gets the address in KAFKA_BROKERS and, as JSON, all of librdkafka's settings for
      # it in KAFKA_SETTINGS; a line on stderr shows the address, for other terminals. The command
      # has a process group of its own, so that it gets a terminal's signals once, from us.
      class EmbeddedBrokerRun
        PARTITIONS = 4
        SIGNALS = %w[INT TERM QUIT HUP].freeze
        TOPIC = /\A([\w.-]+)(?::([1-9]\d*))?\z/
        private_constant :PARTITIONS, :SIGNALS, :TOPIC

        def initialize(topics, command, input:, err:)
          @topics = topics.to_h { |text| topic(text) }
          @command = command
          @input = input
          @err = err
          @rest = +""
          @sent = 0
        end

        # Runs the command to its end and returns its exit code.
        def run
          @broker = EmbeddedBroker.start(topics: @topics)
          @err.puts("skep: embedded broker at #{@broker.bootstrap_servers}")
          @seeder = Testing::TopicSeeder.new(@broker.bootstrap_servers,
                                                            @topics.keys.first)
          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @pidfd = Skep.pidfd(start_command)
          supervise_command
        ensure
          @pidfd&.then { |pidfd| stop_command(pidfd) }
          @signals&.release
          @seeder&.close
          @broker&.stop
        end

        private

        # The command must not outlive its broker.
        def stop_command(pidfd)
          pidfd.signal(:TERM) if pidfd.alive?
          pidfd.wait
        rescue Errno::ESRCH # it has ended just now
          nil
        ensure
          pidfd.close
        end

        def topic(text)
          name, partitions = TOPIC.match(text)&.captures
          raise UsageError, "invalid topic #{text.inspect}: use NAME or NAME:PARTITIONS" unless name

          [name, Integer(partitions || PARTITIONS)]
        end

        def start_command
          env = { "KAFKA_BROKERS" => @broker.bootstrap_servers,
                  "KAFKA_SETTINGS" => JSON.generate(@broker.settings) }
          Process.spawn(env, *@command, in: File::NULL, pgroup: true)
        rescue SystemCallError => e
          raise UsageError, "can't run #{@command.first}: #{e.message.sub(/ - .*/, "").downcase}"
        end

        def supervise_command
          loop do
            ready, = IO.select([@pidfd.to_io, @signals, @input].compact)
            return code(@pidfd.wait) if ready.include?(@pidfd.to_io)

            forward_signals if ready.include?(@signals)
            read_input if ready.include?(@input)
          end
        end

        def forward_signals
          @signals.take.each { |name| @pidfd.signal(name) }
        rescue Errno::ESRCH # it has ended just now
          nil
        end

        # The last line may have no newline.
        def read_input
          bytes = @input.read_nonblock(65_536, exception: false)
          return if bytes == :wait_readable

          *lines, @rest = bytes ? (@rest + bytes).split("\n", -1) : [*@rest, nil]
          @input = nil unless bytes
          publish(lines.reject(&:empty?))
        end

        def publish(lines)
          partitions = @topics.values.first
          @seeder.publish(lines.map { |line| [nil, line, (@sent += 1) % partitions] })
        end

        def code(status) = status.exitstatus || (128 + status.termsig)
      end
    end
  end
end
