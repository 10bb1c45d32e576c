# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WeighingTest < Skep::TestCase
  Weighing = Skep::Swarm::Weighing
  private_constant :Weighing

  test "counts the pages of this process, and what that took" do
    plain = Weighing.of_self
    assert_equal Weighing::BYTES + ["seconds"], plain.keys
    assert_operator plain["uss"], :<=, plain["pss"]
    assert_operator plain["anonymous"], :<, plain["rss"]
    assert_operator plain["seconds"], :>, 0
    assert_equal plain, Weighing.read(plain)
  end

  test "believes numbers only" do
    plain = Weighing.of_self
    assert_raises(KeyError) { Weighing.read({}) }
    assert_raises(ArgumentError) { Weighing.read({ **plain, "uss" => "much" }) }
    assert_raises(TypeError) { Weighing.read({ **plain, "seconds" => nil }) }
    read = Weighing.read({ **plain, "uss" => -5, "seconds" => 1e9 })
    assert_equal [0, 60.0], read.values_at("uss", "seconds")
  end
end
