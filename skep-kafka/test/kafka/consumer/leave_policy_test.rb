# frozen_string_literal: true

require "kafka/support/kafka_case"

# Which stopping nodes keep their place in the group. Scenarios check when the others leave.
class LeavePolicyTest < KafkaCase
  StoppingNode = Struct.new(:scaling_down?, :__all_stop?, :time_left) do
    def on_stop = nil
  end
  Member = Struct.new(:static_member?)
  private_constant :StoppingNode, :Member

  test "a static member keeps its place unless its node stops for good" do
    assert keeps_place?
    assert keeps_place?(all_stop: true)
    assert keeps_place?(leave_on_stop: true)
    refute keeps_place?(all_stop: true, leave_on_stop: true)
    refute keeps_place?(scaling_down: true)
  end

  test "a dynamic member never keeps its place" do
    refute keeps_place?(static: false)
  end

  private

  # A node has a time to leave exactly if it doesn't keep its place.
  def keeps_place?(static: true, scaling_down: false, all_stop: false, leave_on_stop: false)
    node = StoppingNode.new(scaling_down, all_stop, 20.0)
    consumer = Member.new(static)
    leave = Skep::Kafka::Consumer::LeavePolicy.new(node:, consumer:, leave_on_stop:)
    leave.keeps_place?.tap { |keeps| assert_equal keeps, leave.seconds_left.nil? }
  ensure
    leave&.close
  end
end
