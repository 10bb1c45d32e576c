# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # When a member that waits for an assignment counts as stalled.
    class StallMonitorTest < ::Skep::TestCase
      # The consumer's queue of answers: there are none.
      Answers = Struct.new(:io) do
        def drain = nil
      end
      Statistics = Struct.new(:join_state)
      private_constant :Answers, :Statistics

      def setup
        super
        @now = 0.0
        @events = events = []
        consumer, scheduler, report = Array.new(3) { Object.new }
        consumer.define_singleton_method(:queue) { Answers.new }
        scheduler.define_singleton_method(:awaiting_messages) { |**| {} }
        report.define_singleton_method(:event) { |name, **facts| events << [name, facts] }
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "localhost:1" },
                                            group: "readers", topics: "orders", stall_timeout: 60)
        @monitor = Consumer::StallMonitor.new(options, consumer:, scheduler:, report:, metrics: nil,
                                                       clock: -> { @now })
      end

      test "ends a node that waits for an assignment longer than a rebalance may take" do
        error = assert_raises(NodeStalled) { wait_in("wait-sync", 500) }

        assert_in_delta 360, @now, 75 # max.poll.interval.ms and stall_timeout
        assert_includes error.message, "the group readers"
        @monitor.tick(outage: false) # the node ends, which may take a while

        assert_nil @monitor.seconds_left
        assert_equal([[:kafka_stalled, "wait-sync"]],
                     @events.map { |name, facts| [name, facts[:join_state]] })
      end

      test "doesn't count the time before an assignment, an outage or a pause of the process" do
        wait_in("wait-join", 350)
        wait_in("steady", 30)
        wait_in("wait-join", 350)
        @monitor.tick(outage: true)
        wait_in("wait-join", 350)
        @now += 1_000
        wait_in("wait-join", 300)

        assert_empty @events
      end

      private

      # Looks whenever it is due, as the event loop does, for so many seconds.
      def wait_in(join_state, seconds)
        deadline = @now + seconds
        @monitor.statistics = Statistics.new(join_state)
        until @now >= deadline
          @monitor.tick(outage: false)
          @now += @monitor.seconds_left.clamp(1, 30)
        end
      end
    end
  end
end
