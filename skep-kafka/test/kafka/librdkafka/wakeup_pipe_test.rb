# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class WakeupPipeTest < ::Skep::TestCase
      def setup
        super
        @wakeup_pipe = Librdkafka::WakeupPipe.new
      end

      def teardown
        @wakeup_pipe.close
        super
      end

      test "drain returns each number once" do
        [7, 3, 7].each { |number| @wakeup_pipe.wake(number) }
        assert_equal [7, 3], @wakeup_pipe.drain
        assert_empty @wakeup_pipe.drain
        refute @wakeup_pipe.io.wait_readable(0)
      end

      test "becomes readable at the first wake after each drain" do
        2.times do
          2.times { @wakeup_pipe.wake }
          assert @wakeup_pipe.io.wait_readable(0)
          assert_equal [0], @wakeup_pipe.drain
        end
      end

      test "accepts a partition's number after 20,000 unread wakes" do
        20_000.times { @wakeup_pipe.wake }
        @wakeup_pipe.wake(7)
        assert_equal [0, 7], @wakeup_pipe.drain
      end
    end
  end
end
