# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class BellTest < ::Skep::TestCase
      def setup
        super
        @bell = Librdkafka::WakeupPipe.new
      end

      def teardown
        @bell.close
        super
      end

      test "tells each number once, and is silent then" do
        [7, 3, 7].each { |number| @bell.ring(number) }
        assert_equal [7, 3], @bell.heard
        assert_empty @bell.heard
        refute @bell.io.wait_readable(0)
      end

      test "wakes whoever listens each time anew" do
        2.times do
          2.times { @bell.ring }
          assert @bell.io.wait_readable(0)
          assert_equal [0], @bell.heard
        end
      end

      test "has room for a partition, however often it was rung while nobody listened" do
        20_000.times { @bell.ring }
        @bell.ring(7)
        assert_equal [0, 7], @bell.heard
      end
    end
  end
end
