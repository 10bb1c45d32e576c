# frozen_string_literal: true

require "test_helper"
require "skep/os"

class StatmTest < Skep::TestCase
  Statm = Skep::OS::Memory::Statm
  private_constant :Statm

  test "rss is at least the private memory" do
    statm = Statm.of
    assert_operator statm.rss, :>=, Skep::OS::Memory.of.uss
    assert_operator statm.anonymous, :<, statm.rss
  end

  # In a process of its own: in this one the heap may have room already.
  test "rss and anonymous grow with new memory" do
    out, err, status = run_program(<<~RUBY)
      require "skep/os"
      GC.disable
      before = Skep::OS::Memory::Statm.of
      ballast = "x" * (64 << 20)
      after = Skep::OS::Memory::Statm.of
      puts after.anonymous - before.anonymous, after.rss - before.rss, ballast.bytesize
    RUBY
    assert status.success?, err
    out.lines.map(&:to_i).first(2).each { |grown| assert_operator grown, :>=, 56 << 20 }
  end

  test "a write that makes a shared page private doesn't change anonymous" do
    ballast = "x" * (32 << 20)
    pid, reader = in_child do |writer|
      before = Statm.of.anonymous
      (0...ballast.bytesize).step(4096) { |at| ballast.setbyte(at, 121) }
      writer.puts Statm.of.anonymous - before
    end
    # If the private pages counted, it would be 32 MB more.
    assert_operator wait_readable(reader).gets.to_i, :<, 16 << 20
    Process.wait(pid)
  end

  test "returns nil for a dead process, reaped or not" do
    pid, reader = in_child { nil }
    wait_readable(reader).read
    pidfd = Skep.pidfd(pid)
    assert IO.select([pidfd], nil, nil, 10)
    assert_nil Statm.of(pid)
    pidfd.wait
    assert_nil Statm.of(pid)
    pidfd.close
  end
end
