# frozen_string_literal: true

require "test_helper"
require "kafka/verdicts/simulated_life"

# Some faults of `rake verdicts:simulated`: whose they are said to be.
class SimulatedVerdictsTest < Skep::TestCase
  OPTIONS = { nodes: 3, threads: 2, max_attempts: 2, retry_for: 5, max_messages: 20, marks: false,
              dead_letters: true }.freeze
  private_constant :OPTIONS

  def setup
    missing = Skep::Kafka::Librdkafka::Bindings.missing_library
    missing(missing) if missing
  end

  Verdicts::SimulatedLife::KINDS.zip(%w[key partition].cycle).each do |kind, ordered_by|
    test "by #{ordered_by}, #{kind} is told apart" do
      plan = Verdicts::Plan.new(1, [kind], **OPTIONS, ordered_by:)
      observed = []
      Verdicts::SimulatedLife.new(plan, rate: 10).run { |seen| observed << seen }
      assert_equal [nil], observed.map(&:why_wrong)
    end
  end
end
