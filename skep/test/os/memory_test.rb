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

  test "uss grows with private memory" do
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

  test "returns nil for a dead process, reaped or not" do
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

  test "trim returns true or false" do
    assert_includes [true, false], Memory.trim
  end

  # 20,000 holes of 1,000 bytes; a child has room for 2,000 new strings in them.
  HOLES = <<~RUBY
    require "skep/os"
    held = Array.new(40_000) { "x" * 1000 }
    20_000.times { |index| held[2 * index] = nil }
    GC.start
    memory = Skep::OS::Memory
    filled = ARGV.map { |most| memory.fill_holes(most.to_i) }
    reader, writer = IO.pipe
    fork do
      strings = Array.new(2_000) { "y" * 1000 }
      writer.puts memory.of.uss, strings.size
    end
    writer.close
    puts filled.sum, reader.gets
    memory.open_holes
    puts memory.fill_holes(1 << 30)
  RUBY
  private_constant :HOLES

  test "fill_holes saves a forked child from copying pages for its small strings" do
    _, open, = holes
    filled, dense, again = holes(1 << 30)
    return assert_equal [0, 0], [filled, again] unless fills_holes?

    assert_operator filled, :>, 8 << 20
    assert_operator again, :>, 8 << 20, "open_holes frees them"
    assert_operator dense, :<, open / 2, "a child's own memory"
  end

  test "fill_holes stops at the given number of bytes" do
    filled, = holes(1 << 20)
    assert_operator filled, :<=, 1 << 20
    assert_operator filled, :>, (1 << 20) - 4096 if fills_holes?
  end

  private

  # Musl's malloc has no mallinfo2.
  def fills_holes? = Skep::OS.native? && !RUBY_PLATFORM.end_with?("musl")

  def holes(*most)
    skip "the sanitizer has its own malloc" if ENV["LD_PRELOAD"]&.include?("asan")
    out, err, status = run_program(HOLES, most)
    assert_predicate status, :success?, err
    out.lines.map(&:to_i)
  end
end
