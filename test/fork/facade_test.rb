# frozen_string_literal: true

require "test_helper"
require "skep/fork"

class ForkFacadeTest < Skep::TestCase
  test "knows the pid in each of a line of forks" do
    _, reader = in_child do |writer|
      writer.puts [Skep.pid == Process.pid, Skep.generation]
      fork do
        writer.puts [Skep.pid == Process.pid, Skep.generation]
        exit!
      end
      Process.wait
    end
    first, second = [1, 2].map { |forks| (Skep.generation + forks).to_s }
    assert_equal ["true", first, "true", second], wait_readable(reader).read.split
    assert_equal Process.pid, Skep.pid
    Process.wait
  end

  test "counts each fork of a lineage in which nobody asked" do
    out, = run_program(<<~RUBY)
      require "skep/fork"
      fork { fork { fork { puts Skep.generation }; Process.wait }; Process.wait }
      Process.wait
    RUBY
    assert_equal "3\n", out
  end

  test "calls what was registered until it is cancelled" do
    called = 0
    registration = Skep.on_fork(parent: -> { called += 1 })
    2.times do
      Process.wait(fork { exit! })
      registration.cancel
    end
    assert_equal 1, called
  ensure
    registration.cancel
  end
end
