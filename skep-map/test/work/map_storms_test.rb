# frozen_string_literal: true

require "test_helper"
require "skep/work"
require_relative "support/meeting"

# Many maps, each disturbed at another moment. The moments come from a seed; none is asserted.
class MapStormsTest < Skep::TestCase
  include Meeting

  WANTED = Array.new(200) { |number| number * 2 }.freeze
  private_constant :WANTED

  def setup
    @random = Random.new(42)
    super
  end

  test "leaves no process, thread or descriptor, whenever a Timeout ends it" do
    ends = Array.new(20) do |turn|
      items = turn.even? ? 1.. : 1..5_000
      Timeout.timeout(0.001 * (turn + 1)) { Skep.map(items, nodes: 3) { |item| item.to_s * 99 } }
      :done
    rescue Timeout::Error
      assert_empty own_children
      :late
    end
    assert_includes ends, :late
  end

  test "leaves nothing behind if a Timeout ends it at its start" do
    mapping = Thread.current
    trace = TracePoint.new(:return) do |point|
      next unless point.method_id == :on_fork

      trace.disable
      Thread.new { mapping.raise(Timeout::Error, "by now") }.join
    end
    trace.enable
    assert_raises(Timeout::Error) { Skep.map(1..100, nodes: 2) { |item| item } }
  ensure
    trace.disable
  end

  test "a Timeout or kill during a fork ends the map" do
    ends = [Timeout::Error, :kill].map do |how|
      out, = run_program(<<~RUBY)
        require "skep/work"
        require "timeout"
        mapping = Thread.new do
          Skep.map(1.., nodes: 2) { |item| item }
        rescue Timeout::Error
          print "late "
        ensure
          print "over"
        end
        $stdout = Struct.new(:mapping) do
          def write(*text) = STDOUT.syswrite(text.join)

          def flush # as a fork does
            Thread.new(mapping) { |it| it.#{how == :kill ? "kill" : "raise(Timeout::Error)"} }.join
            self.mapping = Thread.new {}
          end
        end.new(mapping)
        mapping.join
      RUBY
      out
    end
    assert_equal ["late over", "over"], ends
  end

  test "a node never continues in the caller's code" do
    out, = run_program(<<~RUBY)
      require "skep/work"
      require "timeout"
      15.times do |turn|
        Timeout.timeout(0.001 * (turn + 1)) { Skep.map(1..5_000, nodes: 3) { |item| item.to_s } }
      rescue Timeout::Error
        nil
      end
      10.times { Skep.map([1], nodes: 1) { throw :nothing } rescue nil }
      print "once "
    RUBY
    assert_equal "once ", out
  end

  test "processes unequal items once each if no node dies" do
    done = collecting do |report|
      IO.pipe do |reader, _|
        results = Skep.map(1..300, nodes: 4) do |item|
          reader.wait_readable(0.02) if (item % 37).zero?
          report.call(item)
          item
        end
        assert_equal (1..300).to_a, results
      end
    end
    assert_equal (1..300).to_a, done.map(&:to_i).sort
  end

  test "returns right results or raises NodeDied under random kills" do
    endings = disturbed(:KILL) do
      Array.new(15) do
        Skep.map(0...200, nodes: 3) { |item| item * 2 }
      rescue Skep::NodeDied => e
        e.class
      end
    end
    assert_empty endings.uniq - [WANTED, Skep::NodeDied]
  end

  test "returns right results although its nodes are stopped at times" do
    endings = disturbed(:STOP, :CONT) do
      Array.new(8) { Skep.map(0...200, nodes: 3) { |item| item * 2 } }
    end
    assert_equal [WANTED], endings.uniq
  end

  test "an error in one thread's map doesn't affect other threads' maps" do
    maps = Array.new(6) do |number|
      Thread.new do
        Skep.map(0...200, nodes: 2) { |item| number.odd? && item == 99 ? raise("odd") : item * 2 }
      rescue RuntimeError => e
        e.message
      end
    end
    assert_equal [WANTED, "odd"] * 3, within { maps.map(&:value) }
  end

  private

  # Sends signals, one after the other, to a child process while the block runs.
  def disturbed(*signals)
    IO.pipe do |reader, writer|
      disturber = Thread.new { signal(signals) until reader.wait_readable(@random.rand * 0.01) }
      within { yield }
    ensure
      writer.close
      disturber.join
    end
  end

  # It may have ended, or been reaped, by then: a pidfd signals no other process.
  def signal(names)
    pid = own_children.sample(random: @random) or return
    pidfd = Skep.pidfd(pid)
    names.each { |name| pidfd.signal(name) }
  rescue Errno::ESRCH
    nil
  ensure
    pidfd&.close
  end
end
