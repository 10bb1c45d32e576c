# frozen_string_literal: true

require "test_helper"
require "skep/guest"

class GuestProcessNameTest < Skep::TestCase
  Name = Skep::Guest::ProcessName
  private_constant :Name

  test "a process is gone once it has ended, and a later one with its pid has another name" do
    refute Name.gone?(Name.own)
    pid, started, *rest = Name.own.split("/")
    assert Name.gone?([pid, started.to_i - 1, *rest].join("/"))
    refute Name.gone?(pid)
    refute Name.gone?(nil)
    child = fork { exit! }
    theirs = [child, started, *rest].join("/")
    Process.wait(child)
    assert Name.gone?(theirs)
    assert Name.gone?(child.to_s)
  end

  test "nothing is known of a process in another container" do
    missing "/proc" unless File.exist?("/proc/self/ns/pid")
    pid, started, = Name.own.split("/")
    elsewhere = "#{pid}/#{started.to_i - 1}/1"
    refute Name.here?(elsewhere)
    refute Name.gone?(elsewhere)
    assert Name.here?(Name.own)
    assert Name.here?(pid)
  end
end
