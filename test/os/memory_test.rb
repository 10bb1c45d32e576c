# frozen_string_literal: true

require "test_helper"
require "skep/os"

class MemoryTest < Skep::TestCase
  Memory = Skep::OS::Memory
  private_constant :Memory

  test "measures this process" do
    memory = Memory.of
    assert_operator memory.rss, :>, 4 << 20
    assert_operator memory.pss, :<=, memory.rss
    assert_operator memory.uss, :<=, memory.pss
    assert_equal memory.rss, memory.uss + memory.shared
    assert_kind_of Integer, memory.swap
    assert_predicate memory, :frozen?
  end

  test "sees private memory grow" do
    pid, reader = in_child do |writer|
      before = Memory.of.uss
      ballast = "x" * (32 << 20)
      writer.puts Memory.of.uss - before, ballast.bytesize
    end
    # A collection in the child may make more of its heap private meanwhile, never less.
    assert_operator wait_readable(reader).gets.to_i, :>=, 31 << 20
    Process.wait(pid)
  end

  test "measures another process" do
    pid, reader = in_child { |writer| writer.write(".") && IO.select(nil) }
    wait_readable(reader).getc
    assert_operator Memory.of(pid).shared, :>, 0
    assert_kind_of Integer, Memory.huge_bytes(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  end

  test "knows nothing of the dead, reaped or not" do
    pid, reader = in_child { nil }
    wait_readable(reader).read
    pidfd = Skep.pidfd(pid)
    assert IO.select([pidfd], nil, nil, 10)
    assert_nil Memory.of(pid)
    pidfd.wait
    assert_nil Memory.of(pid)
    assert_nil Memory.huge_bytes(pid)
    pidfd.close
  end

  test "trims the C heap where it can" do
    assert_includes [true, false], Memory.trim
  end
end
