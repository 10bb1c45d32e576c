# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    module Metrics
      # How often errors are reported.
      class EventReporterTest < ::KafkaCase
        def setup
          super
          @now = 0.0
          @events = []
          @node = FakeNode.new { |name, facts| @events << [name, facts] }
          @report = EventReporter.new(@node, Config::ClientConfig.new({}), clock: -> { @now })
        end

        def teardown
          @node.close
          super
        end

        test "reports a repeated error once a minute, with the number of repetitions" do
          3.times { |n| @report.problem("_TRANSPORT", "no answer after #{n} ms") }
          @report.problem("OTHER", "no answer")
          @now = 61.0
          @report.problem("_TRANSPORT", "no answer after 9 ms")

          assert_equal [nil, nil, 2], @events.map { |_, facts| facts[:repeated] }
          assert_equal ["no answer after 0 ms", "no answer", "no answer after 9 ms"],
                       @events.map { |_, facts| facts[:error] }
        end

        test "reports what concerns messages once a minute for each partition" do
          [["orders", 0], ["orders", 1], ["refunds", 0], ["orders", 0]].each do |topic, partition|
            @report.problem("HELD", "5000 held", name: :kafka_backpressure, topic:, partition:)
          end
          places = @events.map { |_, facts| facts.values_at(:topic, :partition) }
          assert_equal [["orders", 0], ["orders", 1], ["refunds", 0]], places
          @now = 61.0
          @report.problem("HELD", "5000 held", name: :kafka_backpressure, topic: "orders",
                                               partition: 0)
          assert_equal 1, @events.last.last[:repeated]
        end

        test "reports an error of a broker once a minute, whatever the partition" do
          3.times { |partition| @report.problem("seek", "timed out", topic: "orders", partition:) }
          assert_equal [0], @events.map { |_, facts| facts[:partition] }
        end
      end
    end
  end
end
