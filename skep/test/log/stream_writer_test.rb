# frozen_string_literal: true

require "fcntl"
require "stringio"
require "tempfile"
require "test_helper"
require "skep/log"

class StreamWriterTest < Skep::TestCase
  def setup
    @reader, @writer = IO.pipe
    @stream = Skep::Log::StreamWriter.new(@writer)
  end

  def teardown = [@reader, @writer].each { |io| io.close unless io.closed? }

  test "writes lines" do
    @stream.write("one\n")

    assert_equal "one\n", @reader.readpartial(100)
  end

  test "never blocks on a full pipe, and continues once the reader has read" do
    loop = Skep::OS::EventLoop.new
    @stream.loop = loop
    lines = Array.new(3_000) { |i| "#{i} #{'x' * 100}\n" }
    lines.each { |line| @stream.write(line) }
    read = +""
    until read.count("\n") == lines.size
      read << @reader.read_nonblock(65_536)
      loop.turn(0)
    end

    assert_equal lines.join, read
    assert_equal 0, @stream.lost
    loop.close
  end

  test "loses no line to a file when signals interrupt it" do
    loop = Skep::OS::EventLoop.new
    Tempfile.create do |file|
      stream = Skep::Log::StreamWriter.new(file)
      stream.loop = loop
      under_signals { 20_000.times { stream.write("line\n") } }
      stream.drain

      assert_equal [0, 100_000], [stream.lost, file.size]
    end
  ensure
    loop.close
  end

  test "writes pending lines before it closes, even when signals interrupt it" do
    under_signals do
      2_000.times do
        reader, writer = IO.pipe
        Skep::Log::StreamWriter.new(writer).tap { |stream| stream.write("line\n") }.close
        assert_equal "line\n", reader.read
        reader.close
      end
    end
  end

  test "counts the lines that it drops" do
    line = "#{'x' * 9_999}\n"
    300.times { @stream.write(line) }

    assert_operator @stream.lost, :>, 100
  end

  test "counts lost lines as reported only once the reporting line is written" do
    line = "#{"x" * 9_999}\n"
    300.times { @stream.write(line) }
    lost = @stream.lost
    @stream.write("they are lost\n" * 1_000, reports: lost)
    assert_equal lost + 1, @stream.lost

    @stream.drain while @reader.read_nonblock(65_536, exception: false).is_a?(String)
    @stream.write("they are lost\n", reports: lost + 1)
    assert_equal [0, "they are lost\n"], [@stream.lost, @reader.readpartial(100)]
  end

  test "counts what is left as lost when it gives up" do
    lines = 2_000
    lines.times { @stream.write("#{"x" * 99}\n") }
    lost = @stream.give_up
    taken = @reader.read_nonblock(1_000_000).count("\n")
    assert_equal lines, lost + taken
    assert_operator lost, :>, 1_000
    refute_predicate @stream, :pending?
  end

  test "writes to a stream that is no IO" do
    text = StringIO.new
    Skep::Log::StreamWriter.for(text).write("one\n")
    assert_equal "one\n", text.string
    lines = Class.new(Array) { alias_method :write, :<< }.new
    stream = Skep::Log::StreamWriter.for(lines)
    2.times { stream.write("two\n") }
    assert_equal [%W[two\n two\n], 0], [lines, stream.lost]
  end

  test "writes a line again that a signal has kept from a stream" do
    interrupted = 0
    @writer.define_singleton_method(:syswrite) do |text|
      raise Errno::EINTR if (interrupted += 1) == 1

      super(text)
    end
    @stream.write("one\n")
    assert_equal ["one\n", 0], [@reader.read_nonblock(100), @stream.lost]
  end

  test "counts a line as lost if the reader has closed the pipe" do
    @reader.close
    @stream.write("unread\n")

    assert_equal 1, @stream.lost
  end

  test "a line that is lost in its middle ends before the next one" do
    pid, reader = in_child do |out|
      Signal.trap("XFSZ", "IGNORE")
      Tempfile.create do |file|
        stream = Skep::Log::StreamWriter.new(file)
        limit_files(15) { 3.times { |number| stream.write("line number #{number}\n") } }
        2.times { stream.write("#{stream.lost} lost\n", reports: stream.lost) }
        out.puts(File.read(file.path))
      end
    end

    assert_equal "line number 0\nl\n2 lost\n0 lost\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "leaves the stream blocking for other processes that share it" do
    @writer.fcntl(Fcntl::F_SETFL, @writer.fcntl(Fcntl::F_GETFL) & ~Fcntl::O_NONBLOCK)
    @stream.write("x\n")

    assert_equal 0, @writer.fcntl(Fcntl::F_GETFL) & Fcntl::O_NONBLOCK
  end

  private

  def limit_files(bytes)
    most = Process.getrlimit(:FSIZE)
    Process.setrlimit(:FSIZE, bytes, most.last)
    yield
  ensure
    Process.setrlimit(:FSIZE, *most)
  end
end
