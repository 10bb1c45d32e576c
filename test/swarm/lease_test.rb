# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/swarm"

class LeaseTest < Skep::TestCase
  Lease = Skep::Swarm::Lease

  def setup
    @directory = Dir.mktmpdir("skep")
    @path = "#{@directory}/name.sock"
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "is one process'" do
    lease = Lease.new(@path).take
    pid, reader = in_child { |writer| writer.print refusal }
    assert_includes wait_readable(reader).read, "(pid #{Process.pid})"
    Process.wait(pid)
  ensure
    lease&.release
  end

  test "is taken once in a process too, by whatever name, and goes on being held" do
    lease = Lease.new(@path).take
    File.symlink(@directory, "#{@directory}/again")
    2.times { assert_includes refusal("#{@directory}/again/name.sock"), "already runs" }
    pid, reader = in_child { |writer| writer.print refusal }
    assert_includes wait_readable(reader).read, "already runs"
    Process.wait(pid)
  ensure
    lease&.release
  end

  test "is free again when it was released, and when its holder has died" do
    Lease.new(@path).take.release
    pid, = in_child { Lease.new(@path).take }
    Process.wait(pid)
    Lease.new(@path).take.release
    assert_equal Process.pid, File.read("#{@path}.lock").to_i
  end

  test "isn't its holder's forks'" do
    skip "it takes the C" unless Skep::OS.native?
    lease = Lease.new(@path).take
    pid, reader = in_child do |writer|
      writer.puts "here"
      IO.select(nil)
    end
    wait_readable(reader).gets
    lease.release
    Lease.new(@path).take.release
    assert_nil Process.wait(pid, Process::WNOHANG)
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  test "says what keeps a path from being used" do
    Dir.mkdir(@path)
    error = assert_raises(Lease::Unusable) { Lease.new(@path).take }
    assert_includes error.message, "it is a directory"
  end

  private

  def refusal(path = @path)
    assert_raises(Lease::Taken) { Lease.new(path).take }.message
  end
end
