# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "../os/unseen"

# The next Skep.generation detects a fork that Ruby didn't make, and runs the child callbacks then.
class UnseenForksTest < Skep::TestCase
  include Unseen

  # Ruby doesn't really fork then.
  AS_IF = "Process.singleton_class.prepend(Module.new { def _fork = 42 })"
  private_constant :AS_IF

  def setup
    super
    needs_detection
  end

  test "generation runs the child callbacks once, in order" do
    assert_equal "1 child a, child b, 1 1", program(<<~RUBY)
      unseen { print Skep.pid == really ? 1 : 0, " "; print Skep.generation, " ", Skep.generation }
    RUBY
  end

  test "runs the child callbacks after a raw clone(2), too" do
    needs_clone
    assert_equal "child a, child b, 1", program("clone { print Skep.generation }")
  end

  test "runs no callback in the parent, and no parent or before callback" do
    source = "Skep.on_fork(before: -> { print 'before' }, parent: -> { print 'parent' })"
    assert_equal "0", program("#{source}\nunseen { nil }; print Skep.generation")
  end

  test "counts several undetected forks once, and runs the callbacks once" do
    assert_equal "child a, child b, 1", program("unseen { unseen { print Skep.generation } }")
  end

  # Ruby 3.1 may crash if it forks in such a process, so this fork is simulated.
  test "the next fork that Ruby makes runs the child callbacks first" do
    assert_equal "child a, child b, before 1, parent 1", program(<<~RUBY, first: AS_IF)
      Skep.on_fork(before: -> { print "before ", Skep.generation, ", " },
                   parent: -> { print "parent ", Skep.generation })
      unseen { fork }
    RUBY
  end

  test "doesn't run a callback that was registered after the fork" do
    assert_equal "child a, child b, 1", program(<<~RUBY)
      unseen { Skep.on_fork(child: -> { print "late, " }); print Skep.generation }
    RUBY
  end

  test "reports a callback that raises, and runs the rest" do
    out, err, = run_program("require 'skep/fork'; #{SOURCE}\n" + <<~RUBY)
      Skep.on_fork(child: -> { raise "oops" })
      Skep.on_fork(child: -> { print "rest " })
      unseen { print Skep.generation }
    RUBY
    assert_equal "rest 1", out
    assert_match(/\Askep: pid=\d+ the child callback of -e:\d+ raised RuntimeError: oops/, err)
  end

  test "defers the callbacks until a trap handler has returned" do
    assert_equal "1, child a, child b, 1", program(<<~RUBY)
      trap(:USR1) { print Skep.generation, ", " }
      unseen do
        Process.kill(:USR1, really)
        IO.select(nil, nil, nil, 0) # where a handler runs, at the latest
        print Skep.generation
      end
    RUBY
  end

  test "defers the callbacks to the main Ractor" do
    assert_equal "1, child a, child b, 1", program(<<~RUBY)
      unseen { print from_ractor { Skep.generation }, ", "; print Skep.generation }
    RUBY
  end

  test "runs the callbacks of a fork in a trap handler once" do
    assert_equal "child a, child b, 1", program(<<~RUBY)
      trap(:USR1) { fork { exit!(print(Skep.generation) || 0) } }
      Process.kill(:USR1, Process.pid)
      Process.wait
    RUBY
  end

  test "runs the callbacks once if another gem's hook calls generation in the child" do
    assert_equal "child a, child b, 1", program(<<~RUBY, first: <<~GEM)
      Process.wait(fork { print Skep.generation })
    RUBY
      gem = Module.new { def _fork = super.tap { |pid| $asked = Skep.generation if pid.zero? } }
      Process.singleton_class.prepend(gem)
    GEM
  end

  test "runs no callback in a child that a callback forked" do
    assert_equal "1, child a, child b, 1", program(<<~RUBY)
      Skep.on_fork(before: -> { Process.wait(fork { print Skep.generation, ", " }) })
      Process.wait(fork { print Skep.generation })
    RUBY
  end

  test "a fork in a Ractor runs no callbacks" do
    assert_equal "42", program(<<~RUBY, first: AS_IF)
      Skep.on_fork(before: -> { print "before" }, parent: -> { print "parent" })
      print from_ractor { fork }
    RUBY
  end

  private

  def program(source, first: "")
    output_with_unseen(<<~RUBY, first:)
      Skep.on_fork(child: -> { print "child a, " })
      Skep.on_fork(child: -> { print "child b, " })
      #{source}
    RUBY
  end
end
