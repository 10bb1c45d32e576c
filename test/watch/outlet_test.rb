# frozen_string_literal: true

require "fcntl"
require "tempfile"
require "test_helper"
require "skep/watch"

class OutletTest < Skep::TestCase
  def setup
    @reader, @writer = IO.pipe
    @outlet = Skep::Watch::Outlet.new(@writer)
  end

  def teardown = [@reader, @writer].each { |io| io.close unless io.closed? }

  test "writes lines" do
    @outlet.put("one\n")

    assert_equal "one\n", @reader.readpartial(100)
  end

  test "never blocks on a full pipe, and goes on when the reader has read" do
    loop = Skep::OS::EventLoop.new
    @outlet.loop = loop
    lines = Array.new(3_000) { |i| "#{i} #{'x' * 100}\n" }
    lines.each { |line| @outlet.put(line) }
    read = +""
    until read.count("\n") == lines.size
      read << @reader.read_nonblock(65_536)
      loop.turn(0)
    end

    assert_equal lines.join, read
    assert_equal 0, @outlet.lost
    loop.close
  end

  test "loses no line of a file to a signal" do
    loop = Skep::OS::EventLoop.new
    Tempfile.create do |file|
      outlet = Skep::Watch::Outlet.new(file)
      outlet.loop = loop
      stormed { 20_000.times { outlet.put("line\n") } }
      outlet.drain

      assert_equal [0, 100_000], [outlet.lost, file.size]
    end
  ensure
    loop.close
  end

  test "writes what it has before it closes, whatever signals come" do
    stormed do
      2_000.times do
        reader, writer = IO.pipe
        Skep::Watch::Outlet.new(writer).tap { |outlet| outlet.put("line\n") }.close
        assert_equal "line\n", reader.read
        reader.close
      end
    end
  end

  test "counts what it must drop" do
    line = "#{'x' * 9_999}\n"
    300.times { @outlet.put(line) }

    assert_operator @outlet.lost, :>, 100
  end

  test "forgets what is lost once that is told, and not before" do
    line = "#{"x" * 9_999}\n"
    300.times { @outlet.put(line) }
    lost = @outlet.lost
    @outlet.put("they are lost\n" * 1_000, telling: lost)
    assert_equal lost + 1, @outlet.lost

    @outlet.drain while @reader.read_nonblock(65_536, exception: false).is_a?(String)
    @outlet.put("they are lost\n", telling: lost + 1)
    assert_equal [0, "they are lost\n"], [@outlet.lost, @reader.readpartial(100)]
  end

  test "lives on when the reader has gone" do
    @reader.close
    @outlet.put("to nobody\n")

    assert_equal 1, @outlet.lost
  end

  test "leaves the stream blocking for those who share it" do
    @writer.fcntl(Fcntl::F_SETFL, @writer.fcntl(Fcntl::F_GETFL) & ~Fcntl::O_NONBLOCK)
    @outlet.put("x\n")

    assert_equal 0, @writer.fcntl(Fcntl::F_GETFL) & Fcntl::O_NONBLOCK
  end
end
