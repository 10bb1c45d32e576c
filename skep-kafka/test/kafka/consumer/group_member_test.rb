# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "kafka/support/fake_node"

module Skep
  module Kafka
    # The steps with which a node leaves its group.
    class GroupMemberTest < ::Skep::TestCase
      STEPS = %w[scheduler.close thread.close outputs.close metrics.close
                 event_loop.await_other_nodes event_loop.stop event_loop.leave
                 dead_letter_queue.close metrics.clear scheduler.clear].freeze
      private_constant :STEPS

      # Records its calls under its name; raises at one of them.
      class Part
        def initialize(name, calls, failing)
          @name, @calls, @failing = name, calls, failing
        end

        %i[close clear stop await_other_nodes leave abandon].each do |step|
          define_method(step) do
            @calls << "#{@name}.#{step}"
            raise ArgumentError, "at #{@name}.#{step}" if @failing == "#{@name}.#{step}"

            true
          end
        end

        def fatal = nil
      end
      private_constant :Part

      STEPS.each do |failing|
        test "takes all steps of its stop, and reports the error, if #{failing} raises" do
          events = []
          node = FakeNode.new { |name, facts| events << [name, facts] }
          calls, errors = leave(node, failing)

          assert_equal STEPS, calls - %w[consumer.abandon]
          assert_equal ["at #{failing}"], errors.map(&:message)
          assert_equal([["kafka_stop_failed", "ArgumentError: at #{failing}"]],
                       events.map { |name, facts| [name, facts[:error]] })
        ensure
          node&.close
        end
      end

      test "abandons the consumer only if it hasn't left" do
        node = FakeNode.new
        assert_equal STEPS, leave(node, nil).first
        assert_includes leave(node, "event_loop.leave").first, "consumer.abandon"
      ensure
        node&.close
      end

      private

      # Returns the calls and the errors.
      def leave(node, failing)
        options = Config::SourceOptions.new(kafka: { "bootstrap.servers": "localhost:1" },
                                            group: "readers", topics: "orders")
        report = Metrics::EventReporter.new(node, options.settings)
        member = Consumer::GroupMember.new(options:, node:, handler: nil, report:, dynamic: false)
        calls = []
        parts = %w[scheduler outputs metrics event_loop dead_letter_queue consumer].to_h do |name|
          [:"@#{name}", Part.new(name, calls, failing)]
        end
        { **parts, "@threads": [Part.new("thread", calls, failing)] }.each do |name, part|
          member.instance_variable_set(name, part)
        end
        [calls, member.send(:leave)]
      end
    end
  end
end
