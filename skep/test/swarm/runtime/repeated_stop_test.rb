# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RepeatedStopTest < Skep::TestCase
  test "considers a signal that arrives twice within 50 ms one request" do
    assert_equal %i[first same again], of(["TERM", 0.0], ["TERM", 0.04], ["TERM", 0.2])
  end

  test "considers the INT of Ctrl-C and foreman's TERM within a second one request" do
    assert_equal %i[first same same again],
                 of(["INT", 0.0], ["TERM", 0.3], ["TERM", 0.9], ["TERM", 1.1])
  end

  test "a second INT is another request, even while foreman's TERM is expected" do
    assert_equal %i[first same again], of(["INT", 0.0], ["TERM", 0.1], ["INT", 0.4])
  end

  test "an INT after a TERM is another request" do
    assert_equal %i[first again], of(["TERM", 0.0], ["INT", 0.1])
  end

  private

  def of(*signals)
    repeated_stop = Skep::Swarm::Runtime::SelfPipe::RepeatedStop.new
    signals.map { |name, now| repeated_stop.of(name, now) }
  end
end
