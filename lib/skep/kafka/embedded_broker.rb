# frozen_string_literal: true

# A Kafka broker for tests and demos that needs no Java: librdkafka's mock cluster in a process of
# its own.
#
#   broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => 8 })
#   Source.new(kafka: broker.settings, group: "billing", topics: "orders")
#   broker.stop                    # it also ends when its owner dies (without skep's C: when all
#                                  # processes that hold the pipe, forked ones too, have died)
#
# What it can't do: no admin requests (topics are made here); it forgets everything at its end; it
# doesn't know members by group.instance.id, so that `settings` has none, and one that was killed
# keeps its partitions until its session ends (`settings` has a short one); while a group changes
# it refuses commits, so that some messages come twice, and it changes once more for a member that
# asks for its assignment after the leader (with a `round_trip_time` the leader, which asks for the
# metadata before, is the last); a partition keeps 5 MiB and drops its oldest messages without a
# word, so that writers must not run ahead; it writes the end of a transaction without a checksum,
# so that `settings` has none looked at, or no reader got past it.
module Skep
  module Kafka
    class EmbeddedBroker
      SECONDS = 30
      PROGRAM = "require \"skep/kafka\"; Skep::Kafka::Testing::MockCluster.serve(owner: %d)"
      private_constant :SECONDS, :PROGRAM

      attr_reader :pid # of its process; nil once it is stopped
      attr_reader :bootstrap_servers # its address, HOST:PORT

      # topics: names, each with its number of partitions; nodes: how many brokers; rebalance_delay:
      # seconds that an empty group waits for more members (group.initial.rebalance.delay.ms);
      # round_trip_time: seconds that each answer takes.
      # Raises MissingGem without the client, EmbeddedBrokerFailed where they don't come up.
      def self.start(topics: {}, nodes: 1, rebalance_delay: 0, round_trip_time: 0)
        new({ topics:, nodes:, rebalance_delay:, round_trip_time: })
      end

      # Raises MissingGem where there can be none.
      def self.check = Librdkafka::Bindings.library && nil

      def initialize(plan)
        there, @input = OS.pipe
        @output, here = OS.pipe
        @plan = plan
        @pid = spawn_ruby(there, here, JSON.generate(plan))
        [there, here].each(&:close)
        @bootstrap_servers = answer
      end

      # What a source or feed needs to use it.
      def settings
        { "bootstrap.servers" => bootstrap_servers, "group.instance.id" => nil,
          "session.timeout.ms" => 1600, "heartbeat.interval.ms" => 100, "check.crcs" => false }
      end

      # Makes a topic of so many partitions.
      def create_topic(name, partitions) = command("topic", name, partitions)

      # From now on no client may read or write this topic.
      def refuse(name) = command("refuse", name)

      # That broker, of those numbered from 1, is this partition's leader from now on.
      def lead(topic, partition, node) = command("lead", topic, partition, node)

      # The next requests of this kind (Kafka's number for it: 8 is OffsetCommit) are answered by
      # these error codes, one each.
      def fail_next(request, *codes) = command("fail", request, *codes)

      # All brokers stop listening and drop their connections, or come back.
      def down! = command("down")
      def up! = command("up") # they listen again

      # Forgets all messages and groups, and has only these topics from now on, at another address.
      # Much quicker than another start. Clients of the old address get no answer any more.
      def reset(topics: {})
        @bootstrap_servers = command("reset", { **@plan, topics: })
      end

      # Ends it and waits for its end.
      def stop
        return unless pid

        dismiss
        [@input, @output].each(&:close)
        Process.wait(pid)
        @pid = nil
      end

      def inspect = "#<Skep::Kafka::EmbeddedBroker pid=#{pid} #{bootstrap_servers}>"

      private

      # A fresh Ruby: a fork of the caller would carry its threads' half-done work along. The load
      # path has the gems that it needs, so that it starts without RubyGems and Bundler.
      def spawn_ruby(there, here, plan)
        EmbeddedBroker.check
        paths = $LOAD_PATH.flat_map { |path| ["-I", path.to_s] }
        Process.spawn({ "RUBYOPT" => nil }, RbConfig.ruby, "--disable=gems", *paths,
                      "-e", format(PROGRAM, Process.pid), plan, in: there, out: here, pgroup: true)
      end

      # Closing the pipe alone wouldn't do while a forked child holds it too.
      def dismiss
        command("stop")
      rescue Errno::EPIPE, EmbeddedBrokerFailed
        # It has ended already.
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
