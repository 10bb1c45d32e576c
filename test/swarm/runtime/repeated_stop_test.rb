# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RepeatedStopTest < Skep::TestCase
  test "takes one signal that comes twice for one" do
    assert_equal %i[first same again], of(["TERM", 0.0], ["TERM", 0.04], ["TERM", 0.2])
  end

  test "takes the INT of Ctrl-C and foreman's TERM for one" do
    assert_equal %i[first same same again],
                 of(["INT", 0.0], ["TERM", 0.3], ["TERM", 0.9], ["TERM", 1.1])
  end

  test "hears who presses Ctrl-C again meanwhile" do
    assert_equal %i[first same again], of(["INT", 0.0], ["TERM", 0.1], ["INT", 0.4])
  end

  test "hears Ctrl-C after a TERM" do
    assert_equal %i[first again], of(["TERM", 0.0], ["INT", 0.1])
  end

  private

  def of(*signals)
    repeated_stop = Skep::Swarm::Runtime::SelfPipe::RepeatedStop.new
    signals.map { |name, now| repeated_stop.of(name, now) }
  end
end
