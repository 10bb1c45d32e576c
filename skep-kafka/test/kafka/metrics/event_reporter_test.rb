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

        test "describes only the beginning of an error's huge message" do
          ["m" * 1_000_000, "password=x " * 100_000, ("😀" * 100_000).encode("UTF-16BE"),
           "\xff".b * 1_000_000].each do |message|
            text = EventReporter.describe(RuntimeError.new(message))
            assert_operator text.bytesize, :<, 200_000
            assert_operator text.size, :>, 10_000
            assert_predicate text, :valid_encoding?
          end
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

        test "remembers each of 3,000 partitions, and the failures of 3,000 topics" do
          error = RuntimeError.new("no")
          2.times do
            3_000.times do |n|
              held(n)
              @report.retried(slice("orders.#{n}"), error, retry_in: 1)
            end
          end
          told = @events.map { |name, facts| [name, facts[:level]] }
          assert_equal [["kafka_backpressure", :warn], ["handler_failed", :error],
                        ["handler_failed", :debug]].product([3_000]), told.tally.to_a
        end

        test "remembers a limited number of kinds, those that occurred last" do
          error = RuntimeError.new("no")
          [*0..20_000, 0, 20_000].each do |n|
            held(n)
            @report.tell(:log, "orders.#{n}", error)
          end
          %i[@seen @kinds].each do |name|
            assert_equal 10_002, @report.instance_variable_get(name).size, name
          end
          again = @events.last(2).map { |_, facts| facts[:partition] }
          assert_equal [20_000, 0], again, "the oldest one is forgotten, the newest one isn't"
        end

        test "reports an error of a broker once a minute, whatever the partition" do
          3.times { |partition| @report.problem("seek", "timed out", topic: "orders", partition:) }
          assert_equal [0], @events.map { |_, facts| facts[:partition] }
        end

        private

        def held(partition)
          @report.problem("HELD", "5000 held", name: :kafka_backpressure, level: :warn,
                                               topic: "orders", partition:)
        end

        def slice(topic = "orders")
          message = Message.new(topic, 0, 0, nil, "a", 0, {})
          Processing::Slice.new(topic, 0, [message])
        end
      end
    end
  end
end
