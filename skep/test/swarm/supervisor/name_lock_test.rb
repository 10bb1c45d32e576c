# frozen_string_literal: true

require "test_helper"
require "socket"
require "tmpdir"
require "skep/swarm"

class NameLockTest < Skep::TestCase
  NameLock = Skep::Swarm::Supervisor::NameLock
  PathUnusable = Skep::Swarm::Definition::RunDirectory::PathUnusable

  def setup
    @directory = Dir.mktmpdir("skep")
    @path = "#{@directory}/name.sock"
  end

  def teardown = FileUtils.remove_entry(@directory)

  test "is refused to another process while one holds it, with the holder's pid" do
    name_lock = NameLock.new(@path).take
    pid, reader = in_child { |writer| writer.print refusal }
    assert_includes wait_readable(reader).read, "(pid #{Process.pid})"
    Process.wait(pid)
  ensure
    name_lock&.release
  end

  test "is refused to its own process by any path to it, and stays held" do
    name_lock = NameLock.new(@path).take
    File.symlink(@directory, "#{@directory}/again")
    2.times { assert_includes refusal("#{@directory}/again/name.sock"), "already runs" }
    pid, reader = in_child { |writer| writer.print refusal }
    assert_includes wait_readable(reader).read, "already runs"
    Process.wait(pid)
  ensure
    name_lock&.release
  end

  test "shows that its swarm has no control socket, as long as that runs" do
    assert_nil NameLock.without_socket(@path)
    [true, false].each do |socket|
      name_lock = NameLock.new(@path, socket:).take
      assert_equal !socket, NameLock.without_socket(@path) == Process.pid
      assert_includes other_refusal, "(pid #{Process.pid})"
      name_lock.release
      assert_nil NameLock.without_socket(@path)
    end
    pid, = in_child { NameLock.new(@path, socket: false).take }
    Process.wait(pid)
    assert_nil NameLock.without_socket(@path)
  end

  test "is free after its release, and after its holder's death" do
    NameLock.new(@path).take.release
    pid, = in_child { NameLock.new(@path).take }
    Process.wait(pid)
    NameLock.new(@path).take.release
    assert_equal Process.pid, File.read("#{@path}.lock").to_i
  end

  test "is free after its release while a fork of its holder runs" do
    name_lock = NameLock.new(@path).take
    pid, reader = in_child do |writer|
      writer.puts "here"
      IO.select(nil)
    end
    wait_readable(reader).gets
    name_lock.release
    NameLock.new(@path).take.release
    assert_nil Process.wait(pid, Process::WNOHANG)
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  test "is refused while a process answers at the socket, even if the lock file is gone" do
    name_lock = NameLock.new(@path).take
    server = UNIXServer.new(@path)
    File.unlink("#{@path}.lock")
    pid, reader = in_child { |writer| 2.times { writer.puts refusal } }
    assert_equal 2, wait_readable(reader).read.scan("(pid #{Process.pid})").size
    Process.wait(pid)
  ensure
    server&.close
    name_lock&.release
  end

  test "can be taken if no process answers at the socket" do
    UNIXServer.new(@path).close
    NameLock.new(@path).take.release
    assert_equal Process.pid, File.read("#{@path}.lock").to_i
  end

  test "is free while a fork of its dead holder still has the socket open" do
    pid, reader = in_child do |writer|
      server = UNIXServer.new(@path)
      server.listen(1)
      writer.puts(fork { server && IO.select(nil) })
    end
    left = Skep.pidfd(wait_readable(reader).gets.to_i)
    Process.wait(pid)
    UNIXSocket.new(@path).close
    NameLock.new(@path).take.release
    assert_path_exists @path
  ensure
    left&.signal(:KILL)&.close
  end

  test "restores a removed lock file, but not while another process holds a new one" do
    name_lock = NameLock.new(@path).take
    assert name_lock.restore
    File.unlink("#{@path}.lock")
    assert name_lock.restore
    assert_includes other_refusal, "(pid #{Process.pid})"
    File.unlink("#{@path}.lock")
    pid, reader = in_child do |writer|
      NameLock.new(@path).take
      writer.puts "taken"
      IO.select(nil)
    end
    wait_readable(reader).gets
    refute name_lock.restore
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    name_lock&.release
  end

  test "never writes through a symbolic link, a hard link or a FIFO" do
    precious = "#{@directory}/precious"
    File.write(precious, "the only copy")
    [[:symlink, "is a symbolic link"], [:link, "wasn't made by skep"]].each do |how, why|
      File.public_send(how, precious, "#{@path}.lock")
      error = assert_raises(PathUnusable) { NameLock.new(@path).take }
      assert_includes error.message, why
      File.unlink("#{@path}.lock")
    end
    File.mkfifo("#{@path}.lock")
    assert_raises(PathUnusable) { NameLock.new(@path).take }
    assert_equal "the only copy", File.read(precious)
  end

  test "reports that a control path is a directory" do
    Dir.mkdir(@path)
    error = assert_raises(PathUnusable) { NameLock.new(@path).take }
    assert_includes error.message, "it is a directory"
  end

  private

  def other_refusal
    pid, reader = in_child { |writer| writer.print refusal }
    wait_readable(reader).read
  ensure
    Process.wait(pid)
  end

  def refusal(path = @path)
    assert_raises(NameLock::NameTaken) { NameLock.new(path).take }.message
  end
end
