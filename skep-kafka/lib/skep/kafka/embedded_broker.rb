# frozen_string_literal: true

# A Kafka broker for tests and demos that needs no Java: librdkafka's mock cluster in a separate
# process.
#
#   broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 8 })
#   Source.new(kafka: broker.settings, group: "billing", topics: "orders")
#   broker.stop                    # it also ends when its owner dies (without skep's C: when all
#                                  # processes that hold the pipe, forked ones too, have died)
#
# Its limits:
#
# - It answers no admin requests: create topics with `create_topic`.
# - It loses all messages and groups when it ends.
# - It ignores group.instance.id, so `settings` sets none. A member that is killed keeps its
#   partitions until its session times out; `settings` has a short session.timeout.ms.
# - During a rebalance it refuses commits, so some messages are delivered twice.
# - It rebalances once more if a member requests its assignment after the leader. With a
#   `round_trip_time` the leader is the last, because it requests the metadata first.
# - A partition keeps 5 MiB. Beyond that it drops its oldest messages and reports no error, so
#   a writer must not be further ahead of the readers.
# - It writes the end of a transaction without a checksum. `settings` disables check.crcs, because
#   otherwise no reader gets past it.
module Skep
  module Kafka
    class EmbeddedBroker
      SECONDS = 30
      PROGRAM = "require \"skep/kafka\"; Skep::Kafka::Testing::MockCluster.serve(owner: %d)"
      private_constant :SECONDS, :PROGRAM

      attr_reader :pid # of its process; nil after `stop`
      attr_reader :bootstrap_servers # its address, HOST:PORT

      # topics: names, each with its number of partitions; nodes: the number of brokers;
      # rebalance_delay: seconds that an empty group waits for more members
      # (group.initial.rebalance.delay.ms); round_trip_time: seconds that each answer takes.
      # Raises MissingGem if librdkafka is missing, EmbeddedBrokerFailed if the brokers don't start.
      def self.start(topics: {}, nodes: 1, rebalance_delay: 0, round_trip_time: 0)
        new({ topics:, nodes:, rebalance_delay:, round_trip_time: })
      end

      # Raises MissingGem if librdkafka is missing.
      def self.check = Librdkafka::Bindings.library && nil

      def initialize(plan)
        there, @input = OS.pipe
        @output, here = OS.pipe
        @plan = plan
        @pid = spawn_ruby(there, here, JSON.generate(plan))
        [there, here].each(&:close)
        @bootstrap_servers = answer
      end

      # Returns the settings of a client of this broker.
      def settings
        { "bootstrap.servers" => bootstrap_servers, "group.instance.id" => nil,
          "session.timeout.ms" => 1600, "heartbeat.interval.ms" => 100, "check.crcs" => false }
      end

      # Creates a topic with this number of partitions.
      def create_topic(name, partitions) = command("topic", name, partitions)

      # Denies all clients access to this topic from now on.
      def refuse(name) = command("refuse", name)

      # Makes this broker the partition's leader. Brokers are numbered from 1.
      def lead(topic, partition, node) = command("lead", topic, partition, node)

      # Answers the next requests of this kind with these error codes, one each. request: Kafka's
      # number of the kind, such as 8 for OffsetCommit.
      def fail_next(request, *codes) = command("fail", request, *codes)

      # All brokers stop listening and close their connections.
      def down! = command("down")

      # All brokers listen again.
      def up! = command("up")

      # Deletes all topics, messages and groups, creates these topics, and changes the address.
      # Clients of the old address get no more answers. This is much faster than another start.
      def reset(topics: {})
        @bootstrap_servers = command("reset", { **@plan, topics: })
      end

      # Ends the broker's process and waits for its exit.
      def stop
        return unless pid

        dismiss
        [@input, @output].each(&:close)
        Process.wait(pid)
        @pid = nil
      end

      def inspect = "#<Skep::Kafka::EmbeddedBroker pid=#{pid} #{bootstrap_servers}>"

      private

      # Starts a new Ruby, because a fork would inherit the unfinished work of the caller's threads.
      # The load path has the gems that it needs, so it starts without RubyGems and Bundler.
      def spawn_ruby(there, here, plan)
        EmbeddedBroker.check
        paths = $LOAD_PATH.flat_map { |path| ["-I", path.to_s] }
        Process.spawn({ "RUBYOPT" => nil }, RbConfig.ruby, "--disable=gems", *paths,
                      "-e", format(PROGRAM, Process.pid), plan, in: there, out: here, pgroup: true)
      end

      # Closing the pipe isn't enough while a forked child holds it, too.
      def dismiss
        command("stop")
      rescue Errno::EPIPE, EmbeddedBrokerFailed
        # The process has ended already.
      end

      def command(*words)
        @input.puts(JSON.generate(words))
        answer
      end

      def answer
        return @output.gets.chomp if @output.wait_readable(SECONDS) && !@output.eof?

        raise EmbeddedBrokerFailed.new(pid:, seconds: SECONDS)
      end
    end
  end
end
