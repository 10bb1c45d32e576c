# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/log"

class DatagramWriterTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "socket")
    @loop = Skep::OS::EventLoop.new
    @writer = Skep::Log::DatagramWriter.new(@path)
    @writer.loop = @loop
  end

  def teardown
    @writer.close
    @loop.close
    @receiver&.close
    FileUtils.remove_entry(@directory)
  end

  test "sends datagrams in order" do
    listen
    %w[one two].each { |datagram| @writer.write(datagram) }

    assert_equal %w[one two], [read, read]
  end

  test "sends to an abstract socket if the path starts with @" do
    name = "skep-test-#{Process.pid}"
    @receiver = bound("\0#{name}")
    writer = Skep::Log::DatagramWriter.new("@#{name}")
    writer.write("here")

    assert_equal "here", read
  ensure
    writer&.close
  end

  test "counts a datagram without a receiver as lost, and sends once one listens" do
    @writer.write("lost")
    assert_equal 1, @writer.lost
    listen
    @writer.write("1 lost", reports: 1)

    assert_equal ["1 lost", 0], [read, @writer.lost]
  end

  test "counts a datagram to an invalid path as lost" do
    writer = Skep::Log::DatagramWriter.new("/#{"long" * 50}")
    writer.write("lost")

    assert_equal 1, writer.lost
  end

  test "sends to the next receiver at the path after the first one has gone" do
    listen
    @writer.write("one")
    @receiver.close
    File.unlink(@path)
    @writer.write("lost")
    listen
    @writer.write("two")

    assert_equal "two", read
  end

  test "never blocks on a slow receiver, and continues once it reads" do
    listen
    datagrams = Array.new(500) { |number| "#{number} #{"x" * 1_000}" }
    datagrams.each { |datagram| @writer.write(datagram) }
    assert_predicate @writer, :pending?
    got = datagrams.map do
      @loop.turn(0)
      read
    end

    assert_equal [datagrams, 0], [got, @writer.lost]
    refute_predicate @writer, :pending?
  end

  test "keeps at most a mebibyte, and counts further datagrams as lost" do
    listen
    2_000.times { @writer.write("x" * 1_000) }

    assert_includes 1..1_000, @writer.lost
  end

  test "sends a datagram that is too large as a file's descriptor" do
    listen
    @writer.write("x" * 900_000)
    wait_readable(@receiver)
    text, _, _, control = @receiver.recvmsg(scm_rights: true)
    file = control.unix_rights.first
    file.rewind

    assert_equal ["", "x" * 900_000, 0], [text, file.read, file.stat.nlink]
  ensure
    file&.close
  end

  test "finish waits for a slow receiver, up to its timeout" do
    listen
    datagrams = Array.new(500) { |number| "#{number} #{"x" * 1_000}" }
    datagrams.each { |datagram| @writer.write(datagram) }
    @writer.finish(0.01)
    assert_predicate @writer, :pending?
    reader = Thread.new { datagrams.map { read } }
    @writer.finish(10.0)

    assert_equal datagrams, reader.value
  end

  private

  def listen = @receiver = bound(@path)

  def bound(path)
    Socket.new(:UNIX, :DGRAM).tap { |socket| socket.bind(Addrinfo.unix(path, :DGRAM)) }
  end

  def read = wait_readable(@receiver).recv(65_536)
end
