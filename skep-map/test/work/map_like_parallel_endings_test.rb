# frozen_string_literal: true

require "test_helper"
require "stringio"
require "skep/work"
require_relative "support/meeting"

# How a map ends early: by an exception, by Skep::Stop, by a dead node, by a signal for the caller's
# thread. It is as with the gem parallel, except that the error has more details.
class MapLikeParallelEndingsTest < Skep::TestCase
  include Meeting

  class Undumpable < StandardError
    def initialize(message = "can't be dumped")
      super
      @io = StringIO.new
    end
  end

  def after_teardown
    assert_empty own_children
  ensure
    super
  end

  test "raises what the block raised, with the line where it did" do
    line = __LINE__ + 1
    error = assert_raises(KeyError) { Skep.map(1..2, nodes: 2) { {}.fetch(:absent) } }
    assert_equal "key not found: :absent", error.message
    assert_match(/#{File.basename(__FILE__)}:#{line}/, error.backtrace.join("\n"))
  end

  test "raises EOFError and other exceptions unchanged" do
    [EOFError, StandardError, NotImplementedError, Timeout::Error, SecurityError].each do |kind|
      assert_equal kind, assert_raises(kind) { Skep.map([1], nodes: 1) { raise kind } }.class
      assert_equal kind, assert_raises(kind) { Skep.each([1], nodes: 1) { raise kind } }.class
    end
  end

  test "reports an exception that can't be marshalled" do
    line = __LINE__ + 1
    error = assert_raises(StandardError) { Skep.map([1], nodes: 1) { raise Undumpable } }
    assert_match(/Undumpable.*can't be dumped/, error.message)
    assert_match(/#{File.basename(__FILE__)}:#{line}/, error.backtrace.join("\n"))
  end

  test "raises an exception whose cause can't be marshalled" do
    error = assert_raises(ArgumentError) do
      Skep.map([1], nodes: 1) do
        raise Undumpable
      rescue Undumpable
        raise ArgumentError, "bad"
      end
    end
    assert_equal "bad", error.message
  end

  %i[map each].each do |way|
    test "#{way} starts no item after a failure, and doesn't wait for others" do
      begun = collecting do |report|
        endlessly do |wait|
          block = failing(report, wait)
          assert_raises(KeyError) { Skep.public_send(way, 1..100, nodes: 4, &block) }
        end
      end
      assert_operator begun.size, :<=, 4, begun.inspect
      assert_includes begun, "1"
    end

    test "#{way} starts no item after a stop, even of an endless source" do
      within do
        begun = collecting do |report|
          Skep.public_send(way, 1.., nodes: 4) do |item|
            report.call(item) if item == 1
            raise Skep::Stop if item == 1
          end
        end
        assert_equal ["1"], begun
      end
    end

    test "#{way} names the item, and the signal that killed its node each time" do
      error = assert_raises(Skep::NodeDied) do
        Skep.public_send(way, %w[first second], nodes: 1) do |item|
          Process.kill(:KILL, Process.pid) if item == "second"
        end
      end
      assert_match(/second/, error.message)
      assert_match(/KILL/, error.message)
    end

    { "exit" => [-> { exit }, 0], "exit!" => [-> { exit!(3) }, 3],
      "abort" => [-> { $stderr.reopen(File::NULL) && abort("no") }, 1] }.each do |name, (act, code)|
      test "#{way} considers a node that calls #{name} dead" do
        error = assert_raises(Skep::NodeDied) do
          Skep.public_send(way, [1], nodes: 1) { act.call }
        end
        assert_match(/\b#{code}\b/, error.message)
      end
    end
  end

  test "retries the item of a killed node once, in another node" do
    IO.pipe do |reader, writer|
      writer.tap { |io| io.syswrite("!") }.close # its reader is killed
      tries = collecting do |report|
        results = Skep.map(1..4, nodes: 2) do |item|
          report.call(item)
          Process.kill(:KILL, Process.pid) if item == 2 && reader.getc
          item
        end
        assert_equal [1, 2, 3, 4], results
      end
      assert_equal 2, tries.count("2")
    end
  end

  test "ends its nodes when the thread that called it is killed" do
    IO.pipe do |reader, writer|
      thread = Thread.new do
        IO.pipe { |gate, _| Skep.map(0..3, nodes: 2) { writer.syswrite("!") && gate.read(1) } }
      end
      within { reader.read(2) }
      writer.close
      thread.kill.join
      assert_equal "", wait_readable(reader).read
    end
  end

  test "ends its nodes at a timeout" do
    endlessly do |wait|
      error = assert_raises(Timeout::Error) do
        Timeout.timeout(0.2) { Skep.map(0..3, nodes: 2) { wait.call } }
      end
      assert_match(/execution expired/, error.message)
    end
  end

  test "can have many nodes" do
    assert_equal (0..100).to_a, Skep.map((0..100).to_a, nodes: 50) { |item| item }
  end

  test "opens few descriptors, and no node has another node's" do
    counts = Skep.map(Array.new(20), nodes: 20) { Dir.children("/proc/self/fd").size }
    assert_operator counts.max - Dir.children("/proc/self/fd").size, :<=, 6
  end

  private

  # Item 1 fails, the others would run for ever.
  def failing(report, wait)
    lambda do |item|
      report.call(item)
      item == 1 ? raise(KeyError, "the first") : wait.call
    end
  end
end
