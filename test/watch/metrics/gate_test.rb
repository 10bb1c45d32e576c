# frozen_string_literal: true

require "test_helper"
require "skep/watch"
require "skep/watch/metrics/gate"
require "socket"

class GateTest < Skep::TestCase
  Gate = Skep::Watch::Metrics.const_get(:Gate)
  MOST = Gate.const_get(:MOST)
  # A client in the eyes of the gate.
  Client = Struct.new(:closed?)

  test "lets in as many as there is room for, and the next once one has gone" do
    with_gate do |gate, held, stopper|
      gate.accept_nonblock
      waiting = Thread.new { gate.accept_nonblock }
      refute waiting.join(0.2), "it let in too many"
      held.first[:closed?] = true
      assert waiting.join(10), "it let nobody in when there was room"
      stopper.close
    end
  end

  test "lets go of who waits at its end" do
    with_gate(MOST) do |gate, _, stopper|
      waiting = Thread.new { gate.accept_nonblock }
      refute waiting.join(0.1)
      stopper.close
      assert waiting.join(10)
    end
  end

  private

  # One who has so many clients.
  def with_gate(size = MOST - 1)
    stop, stopper = IO.pipe
    held = Array.new(size) { Client.new(false) }
    accepts = Module.new { def accept_nonblock(**) = Client.new(false) }
    gate = Object.new.extend(accepts).extend(Gate)
    gate.guard(stop)
    gate.instance_variable_get(:@open).concat(held)
    yield gate, held, stopper
  ensure
    [stop, stopper].each(&:close)
  end
end
