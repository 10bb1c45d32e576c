# frozen_string_literal: true

require "test_helper"
require "skep/os"

class OomScoreTest < Skep::TestCase
  OomScore = Skep::OS::Memory::OomScore
  private_constant :OomScore

  test "can be raised, and is handed on to children" do
    skip "this system has none" unless OomScore.adjustment
    before = OomScore.adjustment
    pid, reader = in_child do |writer|
      OomScore.adjustment = before + 7
      Process.wait(fork { writer.print OomScore.adjustment })
    end
    assert_equal((before + 7).to_s, wait_readable(reader).read)
    Process.wait(pid)
  end

  test "has an end" do
    skip "this system has none" unless OomScore.adjustment
    pid, reader = in_child do |writer|
      OomScore.adjustment = 5_000
      writer.print OomScore.adjustment
    end
    assert_equal "1000", wait_readable(reader).read
    Process.wait(pid)
  end
end
