# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class ClientConfigTest < ::KafkaCase
      test "names a static member after swarm, host and node, or after the user's id" do
        assert_equal "billing-host-3", member["group.instance.id"]
        assert_equal "mine-3", member("group.instance.id": "mine")["group.instance.id"]
        refute_includes member("group.instance.id": nil), "group.instance.id"
        refute_includes member(nameless: true, "group.instance.id": "mine"), "group.instance.id"
      end

      test "refuses a list, which librdkafka would take for one value" do
        errors = Config::ClientConfig.new({ "bootstrap.servers": %w[k1:9092 k2:9092] }).errors
        assert_equal ["kafka: bootstrap.servers must be a String, as librdkafka has no lists " \
                      "(got Array). Join its values with commas."], errors
      end

      test "sets no group.instance.id with the consumer group protocol" do
        protocol = { "group.protocol": "consumer" }
        refute_includes member(**protocol), "group.instance.id"
        assert_equal "mine-3", member(**protocol, "group.instance.id": "mine")["group.instance.id"]
      end

      test "prefers the user's settings to its defaults, and its own settings to the user's" do
        settings = member("auto.offset.reset": "latest", "client.id": "me", "fetch.min.bytes": 7)
        expected = { "auto.offset.reset" => "latest", "client.id" => "me", "fetch.min.bytes" => "7",
                     "group.id" => "readers", "auto.commit.interval.ms" => "2500",
                     "enable.auto.offset.store" => "false" }
        assert_equal expected, settings.slice(*expected.keys)
      end

      test "refreshes metadata every 10 s unless the source subscribes to a pattern" do
        refresh = "topic.metadata.refresh.interval.ms"
        assert_equal "10000", member[refresh]
        refute_includes member(patterns: true), refresh
        assert_equal "7000", member(patterns: true, refresh => 7000)[refresh]
        [["orders", false], [%w[orders ^ref], true]].each do |topics, patterns|
          assert_equal patterns, Config::SourceOptions.new(topics:).patterns?
        end
      end

      test "gives a producer the settings that aren't a consumer's" do
        settings = Config::ClientConfig.new({ "bootstrap.servers" => "k",
                                              "auto.offset.reset" => "latest",
                                              "group.instance.id" => "i" })
        assert_equal({ "bootstrap.servers" => "k" }, settings.producer)
      end

      test "hides the values of secret settings, and logins in URLs, in any text" do
        config = Config::ClientConfig.new("sasl.password" => "tiger", "ssl.key.pem" => "lily",
                                          "sasl.username" => "me", "sasl.jaas.config" => "",
                                          "ssl.keystore.password" => "tiger-lily")
        assert_equal "me: ***, *** and ***", config.redact("me: tiger-lily, lily and tiger")
        assert_equal "at http://***@host/ and kafka:9092",
                     config.redact("at http://u:p@host/ and kafka:9092")
        assert_equal "not ?", config.redact("not \xFF".b)
        assert_equal "left \xFF".b, "left \xFF".b.tap { |text| config.redact(text) }
      end

      test "the backoff doubles after each failure, with jitter, up to 30 seconds" do
        backoff = Failure::RetryBackoff.new(0.1)
        waits = (1..12).map { |failures| backoff.seconds(failures) }
        waits.each_with_index do |seconds, n|
          plain = [0.1 * (2**n), 30].min
          assert_in_delta plain, seconds, plain * 0.2
        end
        assert_equal 30, (1..50).map { backoff.seconds(1_000) }.max
        refute_equal backoff.seconds(3), backoff.seconds(3)
      end

      test "the backoff respects a limit, and is at least the first backoff" do
        assert_equal 1.5, Failure::RetryBackoff.new(0.1).seconds(20, limit: 1.5)
        assert_in_delta 10, Failure::RetryBackoff.new(0.1).seconds(2, least: 10), 2
        assert_in_delta 5, Failure::RetryBackoff.new(5).seconds(20, limit: 1.5), 1
        assert_equal 30, Failure::RetryBackoff.new(50).seconds(20, limit: 1.5)
        assert_equal 3_600, Failure::RetryBackoff.new(50, max: 3_600).seconds(20)
      end

      private

      def member(nameless: false, patterns: false, **given)
        settings = Config::ClientConfig.new({ "bootstrap.servers" => "k" }.merge(given))
        settings.consumer("billing-host", 3, group: "readers", commit_interval: 2.5, nameless:,
                                             patterns:)
      end
    end
  end
end
