# frozen_string_literal: true

require "test_helper"
require "skep/fork"

class ForkFacadeTest < Skep::TestCase
  test "pid and generation are right in a child and a grandchild" do
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

  test "generation counts each fork, although no process in between asked for it" do
    out, = run_program(<<~RUBY)
      require "skep/fork"
      fork { fork { fork { puts Skep.generation }; Process.wait }; Process.wait }
      Process.wait
    RUBY
    assert_equal "3\n", out
  end

  test "on_fork calls its callback until the registration is cancelled" do
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
