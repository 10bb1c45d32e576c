# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class BootQueueTest < Skep::TestCase
  test "a removed seat is not booted, neither at once nor after a fork that was refused" do
    seat = Skep::Swarm::Seat.new(0, 0)
    seat.give_up
    boots = Skep::Swarm::BootQueue.new(nil, loop: nil, page: nil, cells: nil, roster: nil,
                                            hearing: nil, suspicions: nil, failed: nil)
    boots.enqueue(seat)
    boots.later(seat, 0.1)
    refute_predicate boots, :any?
    refute_predicate seat, :waiting?
  end
end
