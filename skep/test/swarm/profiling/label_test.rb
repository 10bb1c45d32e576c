# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ProfileLabelTest < Skep::TestCase
  Label = Skep::Swarm::Profiling::Label
  private_constant :Label

  test "equal facts have one number, and a thread has it during the block only" do
    orders = Label.number({ "topic" => "orders" })
    assert_equal orders, Label.number({ "topic" => "orders" })
    refunds = Label.number({ "topic" => "refunds" })
    seen = in_thread do
      during = Label.with(orders) do
        [Label.of(Thread.current), Label.with(refunds) { Label.of(Thread.current) },
         Label.of(Thread.current)]
      end
      [*during, Label.of(Thread.current)]
    end
    assert_equal [orders, refunds, orders, 0], seen
    assert_equal [{ "topic" => "refunds" }, {}], [refunds, 0].map { |number| Label.facts(number) }
  end

  test "a thread has no label after the block raised" do
    after = in_thread do
      assert_raises(IOError) { Label.with(Label.number({ "topic" => "orders" })) { raise IOError } }
      Label.of(Thread.current)
    end
    assert_equal 0, after
  end

  private

  # Simulated workers of other tests are fibers of the main thread, and some never end.
  def in_thread(&block) = Thread.new(&block).value
end
