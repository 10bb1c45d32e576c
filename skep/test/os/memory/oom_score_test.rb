# frozen_string_literal: true

require "test_helper"
require "skep/os"

class OomScoreTest < Skep::TestCase
  OomScore = Skep::OS::Memory::OomScore
  private_constant :OomScore

  test "a raised adjustment is inherited by children" do
    skip "this system has no OOM score" unless OomScore.adjustment
    before = OomScore.adjustment
    pid, reader = in_child do |writer|
      OomScore.adjustment = before + 7
      Process.wait(fork { writer.print OomScore.adjustment })
    end
    assert_equal((before + 7).to_s, wait_readable(reader).read)
    Process.wait(pid)
  end

  test "adjustment is 1000 at most" do
    skip "this system has no OOM score" unless OomScore.adjustment
    pid, reader = in_child do |writer|
      OomScore.adjustment = 5_000
      writer.print OomScore.adjustment
    end
    assert_equal "1000", wait_readable(reader).read
    Process.wait(pid)
  end
end
