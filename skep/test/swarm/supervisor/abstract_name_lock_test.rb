# frozen_string_literal: true

require "test_helper"
require "skep/control"
require "socket"

# The lock of a swarm's name where there is no run directory, and what finds it.
class AbstractNameLockTest < Skep::TestCase
  Lock = Skep::Swarm::Supervisor::AbstractNameLock
  NameTaken = Skep::Swarm::Supervisor::NameLock::NameTaken
  AbstractSocket = Skep::Swarm::Definition::AbstractSocket
  NOBODY = 65_534
  private_constant :Lock, :NameTaken, :AbstractSocket, :NOBODY

  def setup
    super
    missing "Linux" unless File.exist?("/proc/net/unix")
    @name = "abstract-#{Process.pid}"
    @before = ENV.delete("SKEP_RUN_DIR")
  end

  def teardown
    [*@locks].each(&:release)
    ENV["SKEP_RUN_DIR"] = @before
    super
  end

  test "refuses the name to another supervisor, and is free after its release" do
    lock = take
    error = assert_raises(NameTaken) { take }
    assert_includes error.message, "#{lock.path} (pid #{Process.pid})"
    assert lock.restore
    lock.release
    assert_predicate take, :held?
  end

  test "without a control socket it has no server, and refuses the name all the same" do
    assert_nil take(listen: false).server
    [true, false].each { |listen| assert_raises(NameTaken) { take(listen:) } }
  end

  test "is free once its process is dead" do
    pid, = in_child { take }
    Process.wait(pid)
    assert_predicate take, :held?
  end

  test "its path is found by this user, unless the user has named a run directory" do
    lock = take
    assert_includes AbstractSocket.paths, lock.path
    ENV["SKEP_RUN_DIR"] = "/run"
    assert_empty AbstractSocket.paths
  end

  test "a name that is too long for an abstract socket isn't held, and has no server" do
    @name = "x" * 100
    refute_predicate take, :held?
    assert_nil take.server
  end

  test "clients connect to it by its path" do
    lock = take
    [["connect", 1.0], ["connect_nonblock"]].each do |method, *timeout|
      connection = Skep::Control::Connection.public_send(method, lock.path, *timeout)
      assert_equal Process.pid, connection.peer
      connection.close
    end
  end

  test "another user's socket of that name is trusted by no client, and isn't taken for a swarm" do
    return assert_operator Process.euid, :>, 0 unless Process.euid.zero? # only root can be another

    path = AbstractSocket.path(@name)
    pid, reader = in_child do |writer|
      Process::Sys.setuid(NOBODY)
      server = UNIXServer.new("\0#{path.delete_prefix("@")}")
      writer.puts("listens")
      writer.flush
      loop { server.accept.close }
    end
    assert_equal "listens\n", wait_readable(reader).gets
    assert_equal [false, nil], [take.held?, take.server]
    assert_includes error_of_another_user(path), "EACCES"
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  private

  def take(listen: true)
    (@locks ||= []) << Lock.new(@name, listen:)
    @locks.last.take
  end

  def error_of_another_user(path)
    pid, reader = in_child do |writer|
      Process::Sys.setuid(NOBODY - 1)
      Skep::Control::Connection.connect_nonblock(path)
    rescue SystemCallError => e
      writer.print(e.class)
    end
    wait_readable(reader).read
  ensure
    Process.wait(pid) if pid
  end
end
