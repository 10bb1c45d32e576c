# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/log"

class DatagramWriterTest < Skep::TestCase
  def setup
    @directory = Dir.mktmpdir
    @path = File.join(@directory, "socket")
    @loop = Skep::OS::EventLoop.new
    @datagrams = Skep::Log::DatagramWriter.new(@path)
    @datagrams.loop = @loop
  end

  def teardown
    @datagrams.close
    @loop.close
    @theirs&.close
    FileUtils.remove_entry(@directory)
  end

  test "sends datagrams in order" do
    listen
    %w[one two].each { |letter| @datagrams.write(letter) }

    assert_equal %w[one two], [read, read]
  end

  test "finds an abstract socket by its @" do
    name = "skep-test-#{Process.pid}"
    @theirs = bound("\0#{name}")
    datagrams = Skep::Log::DatagramWriter.new("@#{name}")
    datagrams.write("here")

    assert_equal "here", read
  ensure
    datagrams&.close
  end

  test "loses what nobody is there for, and finds who comes later" do
    @datagrams.write("lost")
    assert_equal 1, @datagrams.lost
    listen
    @datagrams.write("told", reports: 1)

    assert_equal ["told", 0], [read, @datagrams.lost]
  end

  test "does no harm where there can't be any" do
    datagrams = Skep::Log::DatagramWriter.new("/#{"long" * 50}")
    datagrams.write("lost")

    assert_equal 1, datagrams.lost
  end

  test "finds the next who listens when the first has gone" do
    listen
    @datagrams.write("one")
    @theirs.close
    File.unlink(@path)
    @datagrams.write("lost")
    listen
    @datagrams.write("two")

    assert_equal "two", read
  end

  test "never blocks on who doesn't read, and goes on when they do" do
    listen
    letters = Array.new(500) { |number| "#{number} #{"x" * 1_000}" }
    letters.each { |letter| @datagrams.write(letter) }
    assert_predicate @datagrams, :pending?
    got = letters.map do
      @loop.turn(0)
      read
    end

    assert_equal [letters, 0], [got, @datagrams.lost]
    refute_predicate @datagrams, :pending?
  end

  test "keeps a mebibyte and counts what is more" do
    listen
    2_000.times { @datagrams.write("x" * 1_000) }

    assert_includes 1..1_000, @datagrams.lost
  end

  test "hands what waits to the next program" do
    listen
    letters = Array.new(500) { |number| "#{number} \xff#{"x" * 1_000}".b }
    letters.each { |letter| @datagrams.write(letter) }
    kept = JSON.parse(JSON.generate(@datagrams.dump))
    got = Array.new(500 - kept["rest"].size) { read }
    heir = Skep::Log::DatagramWriter.new(@path)
    heir.restore(kept)
    kept["rest"].each do
      got << read
      heir.drain
    end

    assert_equal letters, got
    refute_empty kept["rest"]
  ensure
    heir&.close
  end

  test "sends what is too large as a file" do
    listen
    @datagrams.write("x" * 900_000)
    wait_readable(@theirs)
    text, _, _, control = @theirs.recvmsg(scm_rights: true)
    file = control.unix_rights.first
    file.rewind

    assert_equal ["", "x" * 900_000, 0], [text, file.read, file.stat.nlink]
  ensure
    file&.close
  end

  test "waits at the end for who reads slowly, as long as it may" do
    listen
    letters = Array.new(500) { |number| "#{number} #{"x" * 1_000}" }
    letters.each { |letter| @datagrams.write(letter) }
    @datagrams.finish(0.01)
    assert_predicate @datagrams, :pending?
    reader = Thread.new { letters.map { read } }
    @datagrams.finish(10.0)

    assert_equal letters, reader.value
  end

  private

  def listen = @theirs = bound(@path)

  def bound(path)
    Socket.new(:UNIX, :DGRAM).tap { |socket| socket.bind(Addrinfo.unix(path, :DGRAM)) }
  end

  def read = wait_readable(@theirs).recv(65_536)
end
