# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # What a node notices of a suspend of its host.
    class MembershipLeaseTest < ::Skep::TestCase
      # The child of a process with a new time namespace has another boot time, and the same
      # monotonic time: as after a suspend of 100 s.
      SUSPEND = <<~'RUBY'
        require "fiddle"
        require "skep/kafka/testing"
        include Skep::Kafka
        NEW_TIME_NAMESPACE = 0x80
        unshare = Fiddle::Function.new(Fiddle.dlopen(nil)["unshare"], [Fiddle::TYPE_INT],
                                       Fiddle::TYPE_INT)
        exit 77 unless unshare.call(NEW_TIME_NAMESPACE).zero?
        File.write("/proc/self/timens_offsets", "boottime 100 0")

        Ownership = Struct.new(:limit, :asked) do
          def confirmed? = (self.asked = true) && false
          def revoked? = false
        end
        ownership = Ownership.new(20_000_000_000)
        lease = Processing::MembershipLease.new(20.0)
        messages = Array.new(3) { |offset| Message.new("orders", 0, offset, nil, "v", -1, {}) }
        seen = []
        Librdkafka::MessageSet.new(messages).each_tracked(Testing.node, 1, ownership) do |message|
          seen << message.offset
          next unless message.offset.zero?

          before = lease.doubtful?
          pid = fork
          exit Process.wait2(pid).last.exitstatus if pid
          print [before, lease.doubtful?]
        end
        print [ownership.asked, seen]
      RUBY
      private_constant :SUSPEND

      test "counts the time of a suspend, and so does the check between two messages" do
        out, err, status = run_program(SUSPEND, gems: true)
        missing "root, and time namespaces" if status.exitstatus == 77

        assert_equal ["[false, true][true, [0]]", "", true], [out, err, status.success?]
      end
    end
  end
end
