# frozen_string_literal: true

require "test_helper"
require "timeout"
require "skep/swarm"

class ControlThreadTest < Skep::TestCase
  # In place of a channel: the kernel has no memory for the message (ENOBUFS), although the socket
  # is writable.
  class Refused
    attr_reader :flushes, :to_io

    def initialize(socket)
      @to_io = socket
      @flushes = 0
    end

    def flush = @flushes += 1
    def pending? = true
    def send_buffer_full? = true
  end
  private_constant :Refused

  test "a flush ends at its deadline, and doesn't spin until then, if the kernel refuses" do
    signals = Skep::Swarm::Runtime::SelfPipe.new([])
    guard = Struct.new(:supervisor).new([])
    control = Skep::Swarm::Processes::ControlThread.new(signals:, orphan_guard: guard,
                                                        orphan_timeout: 5.0)
    ours, theirs = UNIXSocket.pair
    node = Struct.new(:stopping?).new(false)
    channel = Refused.new(ours)
    control.serve(node, channel) { nil }
    Timeout.timeout(20) { control.flush(0.2) }
    assert_operator channel.flushes, :<=, 30
    assert_operator channel.flushes, :>=, 1
  ensure
    control&.leave
    signals.release
    [ours, theirs].each(&:close)
  end
end
