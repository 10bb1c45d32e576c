# frozen_string_literal: true

require "test_helper"
require "timeout"
require "fiddle"
require "skep/os"

class SharedPageTest < Skep::TestCase
  def setup
    @page = Skep::OS::SharedPage.create(4)
  end

  def teardown
    @page.close
  end

  test "is empty at first" do
    assert_equal [4, nil, nil, 0], [@page.cells, @page.read(0), @page.beat_at(0), @page.get(0, 2)]
  end

  test "keeps the last blob of each cell" do
    @page.write(0, "first")
    @page.write(0, "second")
    @page.write(3, "third")
    assert_equal ["second", nil, nil, "third"], Array.new(4) { |cell| @page.read(cell) }
  end

  test "write stores any bytes up to its limit, and raises for one more" do
    blob = "é" * 219
    @page.write(1, blob)
    assert_equal blob, @page.read(1)
    assert_equal Encoding::UTF_8, @page.read(1).encoding
    @page.write(1, "\0\xff".b)
    assert_equal "\0\xff".b, @page.read(1).b
    @page.write(1, "")
    assert_equal "", @page.read(1)
    assert_match(/438/, assert_raises(ArgumentError) { @page.write(1, "x" * 439) }.message)
  end

  test "beat records the time of Skep::OS.now" do
    before = Skep::OS.now
    @page.beat(2)
    assert_includes before..Skep::OS.now, @page.beat_at(2)
    assert_nil @page.beat_at(1)
  end

  test "words have 64 bits, and sums wrap" do
    @page.set(1, 2, 2**64 - 1)
    assert_equal 2**64 - 1, @page.get(1, 2)
    assert_equal 4, @page.add(1, 2, 5)
    assert_equal 2, @page.add(1, 2, -2)
    @page.set(1, 15, 7)
    assert_equal [2, 7, 0], [@page.get(1, 2), @page.get(1, 15), @page.get(2, 2)]
  end

  test "mark sets a word and beats" do
    before = Skep::OS.now
    assert_nil @page.mark(1, 6, 2**63)
    assert_equal [2**63, 0], [@page.get(1, 6), @page.get(2, 6)]
    assert_includes before..Skep::OS.now, @page.beat_at(1)
    assert_raises(IndexError) { @page.mark(1, 0, 7) }
  end

  test "address returns a cell's memory, which stays readable after close" do
    skip "the fallback has no address" unless Skep::OS::SharedPage.native?
    @page.mark(2, 6, 43)
    address = @page.address(2)
    assert_equal 1024, address - @page.address(1)
    @page.close

    words = Fiddle::Pointer.new(address)[0, 7 * 8].unpack("Q7")
    assert_equal 43, words[6]
    assert_raises(Skep::OS::SharedPage::Closed) { @page.address(2) }
  end

  test "counts blobs in word 0, which set and add refuse to change" do
    3.times { |n| @page.write(0, n.to_s) }
    assert_equal 3, @page.get(0, 0)
    assert_raises(IndexError) { @page.set(0, 0, 1) }
    assert_raises(IndexError) { @page.add(0, 0, 1) }
  end

  test "raises IndexError for a cell or word that doesn't exist" do
    [-1, 4].each do |cell|
      assert_raises(IndexError) { @page.get(cell, 1) }
      assert_raises(IndexError) { @page.write(cell, "") }
      assert_raises(IndexError) { @page.beat(cell) }
    end
    [-1, 16].each { |word| assert_raises(IndexError) { @page.get(0, word) } }
    assert_raises(ArgumentError) { Skep::OS::SharedPage.create(0) }
  end

  # The C extension gives up, too, but no writer in Ruby is fast enough to show it.
  test "a blob that is written all the time can't be read" do
    page = Skep::OS::SharedPage.const_get(:Fallback).instance_method(:read)
    endless = Class.new do
      define_method(:read, page)
      def place(cell, _word) = cell
      def fetch(_place) = @sequence = @sequence.to_i + 1
      def buffer(*) = 0
      def initialize = @io = self
      def pread(*) = "\0\0"
    end
    Timeout.timeout(20) { assert_nil endless.new.read(0) }
  end

  test "clears a cell for its next writer" do
    @page.write(0, "old")
    @page.write(1, "neighbour")
    @page.beat(0)
    (2..15).each { |word| @page.set(0, word, word) }
    @page.clear(0)
    assert_equal [nil, nil, "neighbour"], [@page.read(0), @page.beat_at(0), @page.read(1)]
    assert_equal [0] * 14, (2..15).map { |word| @page.get(0, word) }
    @page.write(0, "new")
    assert_equal "new", @page.read(0)
  end

  test "a page opened from the same IO shares the memory" do
    other = Skep::OS::SharedPage.open(@page.to_io.dup, 4)
    @page.write(3, "shared")
    other.add(3, 2, 1)
    assert_equal ["shared", 1], [other.read(3), @page.get(3, 2)]
    assert_predicate @page.to_io, :close_on_exec?
    other.close
    assert_equal "shared", @page.read(3)
  end

  test "open raises for more cells than the file has" do
    io = @page.to_io.dup
    error = assert_raises(ArgumentError) { Skep::OS::SharedPage.open(io, 5) }
    assert_match(/4096 bytes.*5 cells/, error.message)
    io.close
  end

  test "close may be called twice, and other methods raise Closed afterwards" do
    2.times { assert_nil @page.close }
    assert_predicate @page, :closed?
    uses = [-> { @page.beat(0) }, -> { @page.get(0, 1) }, -> { @page.read(0) },
            -> { @page.write(0, "") }, -> { @page.to_io }, -> { @page.clear(0) }]
    uses.each { |use| assert_raises(Skep::OS::SharedPage::Closed, &use) }
    assert_equal "#<Skep::OS::SharedPage cells=4 closed>", @page.inspect
  end

  test "closes its fd when it is garbage-collected" do
    before = Dir.children("/proc/self/fd").size
    drop = ->(count) { count.positive? && (Skep::OS::SharedPage.create(1) && drop.(count - 1)) }
    drop.(200)
    GC.start
    assert_operator Dir.children("/proc/self/fd").size - before, :<, 50
  end
end
