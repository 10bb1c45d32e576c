# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SelfPipeTest < Skep::TestCase
  SelfPipe = Skep::Swarm::Runtime::SelfPipe

  def setup = @signals = SelfPipe.new(%w[USR1 USR2])
  def teardown = @signals.release

  test "returns signals in the order they came, once each" do
    raise_signal("USR2")
    raise_signal("USR1")

    assert_equal %w[USR2 USR1], @signals.take
    assert_empty @signals.take
  end

  test "returns when each signal came, however late it is taken" do
    first = Skep::OS.now
    raise_signal("USR2")
    between = Skep::OS.now
    raise_signal("USR2")
    signals = @signals.take_with_times
    assert_equal %w[USR2 USR2], signals.map(&:first)
    assert_includes first..between, signals[0].last
    assert_includes between..Skep::OS.now, signals[1].last
    assert_empty @signals.take_with_times
  end

  test "delivers a signal even after a storm of another one" do
    70_000.times { raise_signal("USR1") }
    raise_signal("USR2")

    assert_equal %w[USR1 USR2], taken.uniq.sort
  end

  test "restores the previous handlers on release" do
    called = false
    Signal.trap("WINCH") { called = true }
    SelfPipe.new(%w[WINCH]).release
    raise_signal("WINCH")

    assert called
    Signal.trap("WINCH", "DEFAULT")
  end

  test "handles `unless_handled` signals only if the application has no handler for them" do
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

  test "handles `unless_handled` signals in skep's forks, unless the application does by then" do
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

  test "a signal to a new child of skep's reaches the child's SelfPipe, and only that" do
    pid, reader = SelfPipe.with_inherited_handlers { nodes_fork }

    assert_equal "USR1 USR2", wait_readable(reader).gets.chomp
    Process.wait(pid)
    assert_empty @signals.take
  end

  test "restores the previous handlers in a fork that isn't skep's" do
    pid, reader = in_child { |writer| writer.puts(Signal.trap("USR1", "IGNORE")) }

    assert_equal "DEFAULT", wait_readable(reader).gets.chomp
    Process.wait(pid)
    assert_empty @signals.take
  end

  test "restores the previous handlers in another thread's fork, even while skep forks" do
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

  # Signals this process. Ruby runs the main thread's handlers before this returns.
  def raise_signal(name) = Process.kill(name, Process.pid)

  def taken
    all = []
    all.concat(@signals.take) while @signals.to_io.wait_readable(0)
    all
  end
end
