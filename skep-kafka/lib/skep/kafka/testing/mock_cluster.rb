# frozen_string_literal: true

# librdkafka's mock cluster, run until its owner is gone. This is the embedded broker's own process.
#
#   ruby -e 'require "skep/kafka"; Skep::Kafka::Testing::MockCluster.serve(owner: 4242)' \
#        '{"topics":{"orders":8},"nodes":1,"rebalance_delay":0,"round_trip_time":0}'
#
# The first line out is its address. Commands come in as lines of JSON, ["topic", "orders", 8],
# ["refuse", "orders"], ["lead", "orders", 0, 2], ["fail", 8, 25, 25], ["down"], ["up"],
# ["reset", {"topics":{},…}], ["stop"], and each is answered with a line: "reset" with the address
# of a new cluster. End of file, or the owner's death, ends it.
module Skep
  module Kafka
    module Testing
      class MockCluster
        def self.serve(owner:)
          plan = JSON.parse(ARGV.fetch(0))
          new(**plan.transform_keys(&:to_sym)).serve($stdin, $stdout, owner)
        end

        # plan: the arguments of EmbeddedBroker.start.
        def initialize(**plan)
          settings = { "bootstrap.servers" => "127.0.0.1:1", "log_level" => "2" }
          @client = Librdkafka::Client.new(settings, type: Librdkafka::Bindings::PRODUCER)
          start(**plan)
        end

        # Leaves without ado: there is nothing to keep.
        def serve(input, output, owner)
          output.sync = true
          output.puts(address)
          while ready(input, owner) == input && (line = input.gets)
            command, *facts = JSON.parse(line)
            handle(command, *facts)
            output.puts(command == "reset" ? address : "done")
            break if command == "stop"
          end
        ensure
          exit!(0)
        end

        private

        def start(topics:, nodes:, rebalance_delay:, round_trip_time:)
          @nodes = nodes
          @cluster = Librdkafka::Bindings.mock_cluster_new(@client.handle, nodes)
          Librdkafka::Bindings.mock_group_initial_rebalance_delay_ms(
            @cluster, (rebalance_delay * 1000).to_i
          )
          answer_after(round_trip_time)
          topics.each { |name, partitions| topic(name, partitions) }
        end

        def reset(plan)
          Librdkafka::Bindings.mock_cluster_destroy(@cluster)
          start(**plan.transform_keys(&:to_sym))
        end

        def address = Librdkafka::Bindings.mock_cluster_bootstraps(@cluster)

        # The pipe alone wouldn't do: processes forked by the owner hold its other end too.
        def ready(input, owner)
          @owner ||= OS::Pidfd.open(owner)
          watched = @owner.watchable? ? [input, @owner.to_io] : [input]
          IO.select(watched).first.then { |found| found.size > 1 ? @owner.to_io : found.first }
        end

        def handle(command, *facts)
          case command
          when "topic" then topic(*facts)
          when "refuse" then Librdkafka::Bindings.mock_topic_set_error(@cluster, facts.first, Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED)
          when "lead" then Librdkafka::Bindings.mock_partition_set_leader(@cluster, *facts)
          when "fail" then fail_next(*facts)
          when "down" then each_node { |id| Librdkafka::Bindings.mock_broker_set_down(@cluster, id) }
          when "reset" then reset(*facts)
          when "up" then each_node { |id| Librdkafka::Bindings.mock_broker_set_up(@cluster, id) }
          end
        end

        def fail_next(request, *codes)
          errors = Librdkafka::Bindings.integers(codes)
          Librdkafka::Bindings.mock_push_request_errors_array(@cluster, request, codes.size, errors)
        end

        def topic(name, partitions)
          Librdkafka::Bindings.mock_topic_create(@cluster, name, partitions, 1)
        end

        def answer_after(seconds)
          each_node do |id|
            Librdkafka::Bindings.mock_broker_set_rtt(@cluster, id, (seconds * 1000).to_i)
          end
        end

        def each_node(&) = (1..@nodes).each(&)
      end
    end
  end
end
