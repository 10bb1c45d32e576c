# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SelfPipeTest < Skep::TestCase
  SelfPipe = Skep::Swarm::Runtime::SelfPipe

  def setup = @signals = SelfPipe.new(%w[USR1 USR2])
  def teardown = @signals.release

  test "tells signals in order, by a descriptor" do
    raise_signal("USR2")
    raise_signal("USR1")

    assert_equal %w[USR2 USR1], @signals.take
    assert_empty @signals.take
  end

  test "loses no kind of signal in a storm" do
    70_000.times { raise_signal("USR1") }
    raise_signal("USR2")

    assert_equal %w[USR1 USR2], taken.uniq.sort
  end

  test "puts the handlers back" do
    called = false
    Signal.trap("WINCH") { called = true }
    SelfPipe.new(%w[WINCH]).release
    raise_signal("WINCH")

    assert called
    Signal.trap("WINCH", "DEFAULT")
  end

  test "takes some signals only where the application doesn't handle them" do
    handled = false
    Signal.trap("WINCH") { handled = true }
    signals = SelfPipe.new([], unless_handled: %w[WINCH HUP])
    raise_signal("WINCH")
    raise_signal("HUP")

    assert handled
    assert_equal %w[HUP], signals.take
    signals.release
    assert_equal "DEFAULT", Signal.trap("HUP", "DEFAULT")
    assert_kind_of Proc, Signal.trap("WINCH", "DEFAULT")
  end

  test "takes them in skep's own forks too, but not where the application handles them by then" do
    signals = SelfPipe.new([], unless_handled: %w[WINCH HUP])
    Signal.trap("WINCH") { nil }
    pid, reader = SelfPipe.with_inherited_handlers do
      in_child do |writer|
        mine = SelfPipe.new([], unless_handled: %w[WINCH HUP], inherited: signals)
        %w[WINCH HUP].each { |name| raise_signal(name) }
        came = mine.take
        mine.release
        writer.puts([*came, Signal.trap("HUP", "DEFAULT")].join(" "))
      end
    end

    assert_equal "HUP DEFAULT", wait_readable(reader).gets.chomp
    Process.wait(pid)
    signals.release
    Signal.trap("WINCH", "DEFAULT")
  end

  test "gives what came right after a fork to the child, and only to it" do
    pid, reader = SelfPipe.with_inherited_handlers { nodes_fork }

    assert_equal "USR1 USR2", wait_readable(reader).gets.chomp
    Process.wait(pid)
    assert_empty @signals.take
  end

  test "leaves a fork that isn't skep's to the handlers that were there before" do
    pid, reader = in_child { |writer| writer.puts(Signal.trap("USR1", "IGNORE")) }

    assert_equal "DEFAULT", wait_readable(reader).gets.chomp
    Process.wait(pid)
    assert_empty @signals.take
  end

  test "leaves another thread's fork to those handlers, too, while skep forks" do
    SelfPipe.with_inherited_handlers do
      Thread.new do
        pid, reader = in_child { |writer| writer.puts(Signal.trap("USR1", "IGNORE")) }
        assert_equal "DEFAULT", wait_readable(reader).gets.chomp
        Process.wait(pid)
      end.join(10) or flunk("it still waits")
      nil
    end
    refute_predicate SelfPipe, :handing_on?
  end

  private

  def nodes_fork
    in_child do |writer|
      raise_signal("USR1") # before the child has handlers of its own
      mine = SelfPipe.new(%w[USR1 USR2], inherited: @signals)
      @signals.close_in_child
      raise_signal("USR2")
      writer.puts(mine.take.join(" "))
    end
  end

  # To ourselves; handled when it returns,
  # for Ruby runs handlers of its main thread at the next check.
  def raise_signal(name) = Process.kill(name, Process.pid)

  def taken
    all = []
    all.concat(@signals.take) while @signals.to_io.wait_readable(0)
    all
  end
end
