# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "timeout"

# How a map ends early: by an exception, Stop, a dead node or a failed fork.
class MapEndsTest < Skep::TestCase
  class Picky < StandardError
    def initialize(first, second) = super("#{first} and #{second}")
  end

  class Unloadable < StandardError
    def self._load(_) = raise("never back")
    def _dump(_) = "x"
  end

  class Undumpable
    def marshal_dump = raise(NotImplementedError, "not this one")
    def inspect = raise(NotImplementedError)
  end
  private_constant :Picky, :Unloadable, :Undumpable

  test "raises what the block raised, with its backtrace, its cause and the item" do
    error = assert_raises(KeyError) do
      Skep.map([5, 6], nodes: 2) do |item|
        Integer("x")
      rescue ArgumentError
        raise KeyError, "no #{item}" if item == 6
      end
    end
    assert_equal ["no 6", 6, 1], [error.message, error.skep_item, error.skep_index]
    assert_kind_of Skep::ItemContext, error
    assert_match(/#{__FILE__}:2\d:/, error.backtrace.first)
    assert_match(/map_ends_test.*block/, error.backtrace.last(60).join)
    assert_kind_of ArgumentError, error.cause
  end

  test "adds the caller's frames to the backtrace of a node's thread" do
    error = assert_raises(KeyError) { Skep.map([1], nodes: 1, threads: 2) { raise KeyError } }
    assert(error.backtrace.any? { |frame| frame.include?("work.rb") })
  end

  test "raises exceptions with other arguments of new, and RemoteError for unmarshallable ones" do
    picky = assert_raises(Picky) { Skep.map([1], nodes: 1) { raise Picky.new(1, 2) } }
    assert_equal "1 and 2", picky.message
    error = assert_raises(Skep::RemoteError) { Skep.map([7], nodes: 1) { raise Class.new(KeyError), "why" } }
    assert_match(/why/, error.message)
    assert_equal 7, error.skep_item
    error = assert_raises(Skep::RemoteError) { Skep.map([7], nodes: 1) { raise Unloadable, "why" } }
    assert_equal "MapEndsTest::Unloadable", error.error_class
    assert_match(/never back/, error.message)
  end

  test "names an item or result that can't be marshalled by its index and class" do
    error = assert_raises(Skep::Unmarshallable) { Skep.map([0, 1], nodes: 1) { |i| i == 1 ? proc {} : i } }
    assert_match(/result of item 1, a Proc/, error.message)
    assert_equal 1, error.skep_item
    error = assert_raises(Skep::Unmarshallable) { Skep.map([$stdout].each, nodes: 1) { 1 } }
    assert_match(/item 0, an IO/, error.message)
    assert_equal [1], Skep.map([$stdout], nodes: 1) { 1 }
    error = assert_raises(Skep::Unmarshallable) { Skep.map([0], nodes: 1) { Object.const_set(:Elsewhere, Class.new).new } }
    assert_match(/Elsewhere/, error.message)
    unfit = { -> { nested } => /an Array,.*stack level/,
              -> { Undumpable.new } => /Undumpable,.*not this one/ }
    unfit.each do |make, text|
      error = assert_raises(Skep::Unmarshallable) { Skep.map([0], nodes: 1) { make.call } }
      assert_match(text, error.message)
      error = assert_raises(Skep::RemoteError) do
        Skep.map([0], nodes: 1) do
          raise KeyError.new("why").tap { |one| one.instance_variable_set(:@held, make.call) }
        end
      end
      assert_match(/why/, error.message)
    end
  end

  test "names the index of an item that ended its node and can't be inspected" do
    items = [nested, BasicObject.new, Undumpable.new]
    items.each do |item|
      error = assert_raises(Skep::NodeDied) { Skep.map([item], nodes: 1) { exit(3) } }
      assert_match(/\Aitem 0 ended its node/, error.message)
    end
    odd = Object.new.tap { |one| one.define_singleton_method(:inspect) { "ö".encode(Encoding::UTF_16LE) } }
    error = assert_raises(Skep::NodeDied) { Skep.map([odd], nodes: 1) { exit(3) } }
    assert_match(/\Aitem 0 \(ö\) ended/, error.message)
  end

  test "stops other nodes at an exception, and runs their ensure blocks" do
    reader, writer = IO.pipe
    assert_raises(KeyError) do
      Skep.map([0, 1], nodes: 2) do |item|
        wait_readable(reader) && raise(KeyError) if item == 1

        writer.write(".")
        IO.select([], [], [], 20)
      ensure
        writer.write("cleaned") if item.zero?
      end
    end
    assert_match(/cleaned/, reader.read_nonblock(100))
  ensure
    [reader, writer].each(&:close)
  end

  test "kills a node that doesn't end" do
    reader, writer = IO.pipe
    assert_raises(KeyError) do
      Skep.map([0, 1], nodes: 2) do |item|
        wait_readable(reader) && raise(KeyError) if item == 1

        trap(:TERM) {}
        writer.write(".")
        IO.select([], [], [], 20)
      end
    end
  ensure
    [reader, writer].each(&:close)
  end

  test "ends early at Stop with its value, and finishes items in progress" do
    reader, writer = IO.pipe
    finished = []
    value = Skep.map([0, 1, *2..99], nodes: 2, finish: ->(item, *) { finished << item }) do |item|
      raise Skep::Stop, :enough if item == 1 && wait_readable(reader)

      writer.write(".")
      IO.select([], [], [], 0.05)
    end
    assert_equal :enough, value
    assert_includes finished, 0
    assert_operator finished.size, :<, 50
    assert_nil Skep.each([1], nodes: 1) { raise Skep::Stop }
  ensure
    [reader, writer].each(&:close)
  end

  test "retries the item of a killed node in another node" do
    reader, writer = IO.pipe
    writer.write("x")
    results = Skep.map((0...500).to_a, nodes: 2) do |item|
      kill_myself if item == 250 && reader.read_nonblock(1, exception: false) == "x"
      item
    end
    assert_equal (0...500).to_a, results
  ensure
    [reader, writer].each(&:close)
  end

  test "names the item that ended two nodes, and the signal" do
    error = assert_raises(Skep::NodeDied) { Skep.map((0...500).to_a, nodes: 2) { |item| kill_myself if item == 250 } }
    assert_equal [250, 250, "KILL", nil], [error.item, error.index, error.signal, error.exit_status]
    assert_match(/item 250 \(250\) ended 2 nodes, the last \(pid \d+\) with SIGKILL/, error.message)
  end

  test "names the item and exit status if the block calls exit, without a retry" do
    reader, writer = IO.pipe
    error = assert_raises(Skep::NodeDied) { Skep.map(%w[a b], nodes: 1) { |i| writer.write(i) && exit(7) if i == "b" } }
    assert_equal ["b", 1, nil, 7], [error.item, error.index, error.signal, error.exit_status]
    assert_equal "b", reader.read_nonblock(10)
    error = assert_raises(Skep::NodeDied) { Skep.map(%w[a b], nodes: 1) { break 5 } }
    assert_match(/break/, error.message)
    error = assert_raises(Skep::NodeDied) { Skep.map(%w[a], nodes: 1) { exit!(8) } }
    assert_equal 8, error.exit_status
  ensure
    [reader, writer].each(&:close)
  end

  test "raises if a node's thread is killed" do
    error = assert_raises(Skep::NodeDied) { Skep.map([1], nodes: 1, threads: 2) { Thread.current.kill } }
    assert_match(/thread was killed/, error.message)
  end

  test "leaves nothing behind at a Timeout" do
    assert_raises(Timeout::Error) do
      Timeout.timeout(0.1) { Skep.map([1, 2], nodes: 2) { IO.select([], [], [], 20) } }
    end
  end

  test "leaves nothing behind when the caller's thread is killed" do
    reader, writer = IO.pipe
    thread = Thread.new do
      Skep.map([1], nodes: 1) { writer.write(".") && IO.select([], [], [], 20) }
    end
    wait_readable(reader)
    thread.kill.join
    assert_nil thread.value
  ensure
    [reader, writer].each(&:close)
  end

  test "leaves nothing behind when a hook raises" do
    assert_raises(KeyError) { Skep.map([1, 2], nodes: 2, finish: ->(*) { raise KeyError }) { 1 } }
    assert_raises(KeyError) { Skep.map([1, 2], nodes: 2, start: ->(*) { raise KeyError }) { 1 } }
  end

  test "raises an enumerator's exception unchanged" do
    items = Enumerator.new { |list| 3.times { |n| list << n } && raise(KeyError) }
    assert_raises(KeyError) { Skep.map(items, nodes: 2) { 1 } }
  end

  test "continues with fewer nodes if a fork fails" do
    out, err, status = run_program(<<~RUBY)
      require "skep/work"
      forks = 0
      Process.singleton_class.prepend(Module.new do
        define_method(:_fork) { (forks += 1) == 2 ? raise(Errno::EAGAIN) : super() }
      end)
      p Skep.map(1..4, nodes: 4) { |item| IO.select([], [], [], 0.01) && item; item }
    RUBY
    assert_equal ["[1, 2, 3, 4]\n", "", true], [out, err, status.success?]
  end

  # ForkProbe asks the kernel: Ruby's own fork would wait for ever.
  test "raises if the first fork fails" do
    skip "it needs the C extension" unless Skep::OS.native?
    out = as_user_without_processes do |writer|
      Skep.map(1..4, nodes: 4) { 1 }
    rescue Errno::EAGAIN => e
      writer.puts e.message
    end
    assert_equal "Resource temporarily unavailable - fork(2)\n", out
  end

  private

  # Runs the block as a user that may have no other process.
  def as_user_without_processes
    skip "it needs root, to change user" unless Process.uid.zero?
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(65_534)
      Process.setrlimit(:NPROC, 1)
      yield writer
    end
    wait_readable(reader).read.tap { Process.wait(pid) }
  end

  # Data that Marshal and inspect can't walk through.
  def nested = 200_000.times.reduce(nil) { |list, _| [list] }
  def kill_myself = Skep.pidfd(Process.pid).signal(:KILL)
end
