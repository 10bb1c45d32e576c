# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

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

        test "reports a kind of failure once, then in ten seconds with a count; others as debug" do
          batch = slice
          raised = lambda do |place|
            RuntimeError.new("no").tap { |error| error.set_backtrace(["/app/#{place}"]) }
          end
          error = raised["a.rb:1:in `x'"]
          [0, 1, 9.9, 10, 10.1, 20].each do |now|
            @now = now.to_f
            @report.retried(batch, error, retry_in: 1)
          end
          @report.retried(batch, raised["b.rb:2"], retry_in: 1)
          other = IOError.new("no").tap { |one| one.set_backtrace(error.backtrace) }
          @report.retried(batch, other, retry_in: 1)
          @now = 80.0 # forgotten
          @report.retried(batch, error, retry_in: 1)

          told = @events.map { |_, facts| facts.values_at(:level, :repeated, :at) }
          assert_equal [[:error, nil, "/app/a.rb:1"], [:debug, nil, "/app/a.rb:1"],
                        [:debug, nil, "/app/a.rb:1"], [:error, 2, "/app/a.rb:1"],
                        [:debug, nil, "/app/a.rb:1"], [:error, 1, "/app/a.rb:1"],
                        [:error, nil, "/app/b.rb:2"], [:error, nil, "/app/a.rb:1"],
                        [:error, nil, "/app/a.rb:1"]], told
          assert_equal [0, 6, 7, 8], (@events.each_index.select { |n| @events[n].last[:backtrace] })
        end

        test "a final failure is always reported as an error" do
          2.times { @report.failed(:dead_lettered, slice, RuntimeError.new("no")) }
          assert_equal %i[error error], @events.map { |_, facts| facts[:level] }
        end

        test "remembers a limited number of kinds" do
          2_000.times do |n|
            error = RuntimeError.new("no").tap { |e| e.set_backtrace(["/app/#{n}.rb:1"]) }
            @report.retried(slice, error, retry_in: 1)
          end
          assert_operator @report.instance_variable_get(:@kinds).size, :<=, 1_001
        end

        test "reports an error of a broker once a minute, whatever the partition" do
          3.times { |partition| @report.problem("seek", "timed out", topic: "orders", partition:) }
          assert_equal [0], @events.map { |_, facts| facts[:partition] }
        end

        private

        def slice
          message = Message.new("orders", 0, 0, nil, "a", 0, {})
          Processing::Slice.new("orders", 0, [message])
        end
      end
    end
  end
end
