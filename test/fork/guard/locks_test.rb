# frozen_string_literal: true

require "fork/support/guard_case"
require "fcntl"
require "monitor"
require "tempfile"

class GuardLocksTest < GuardCase
  # struct flock on 64-bit Linux: type, whence, start, length, pid.
  WRITE_LOCK = [Fcntl::F_WRLCK, IO::SEEK_SET, 0, 0, 0].pack("ssx4qqix4")
  private_constant :WRITE_LOCK

  def setup
    skip "only Linux' fdinfo tells of locks" unless File.exist?("/proc/self/fdinfo")
    super
  end

  test "notes a flock, which a child shares" do
    Tempfile.create do |file|
      assert_empty findings_of(file)
      file.flock(File::LOCK_EX)
      finding = finding_of(file)
      assert_equal [:file_lock, :note, "a flock for writing of #{File.realpath(file.path)}"],
                   finding.to_h.values_at(:kind, :severity, :what)
    end
  end

  test "finds a POSIX lock, which a child has not" do
    Tempfile.create do |file|
      file.fcntl(Fcntl::F_SETLK, WRITE_LOCK)
      finding = finding_of(file)
      assert_equal [:file_lock, :breaks], finding.to_h.values_at(:kind, :severity)
      assert_match(/\Aa POSIX lock for writing of /, finding.what)
      pid, reader = in_child { |writer| writer.write(findings_of(file).size) }
      assert_equal "0", reader.read
      Process.wait(pid)
    end
  end

  test "notes a Mutex and a Monitor that another thread holds, each once" do
    mutex = Mutex.new
    monitor = Monitor.new
    holding(mutex, monitor) do
      finding = Guard.check.find { |one| one.kind == :held_lock }
      assert_equal "locks held by other threads (1 Monitor, 1 Mutex)", finding.what
      assert_equal :note, finding.severity
    end
    assert_empty(Guard.check.select { |one| one.kind == :held_lock })
  end

  test "passes those that the forking thread holds, and that nobody does" do
    mutex = Mutex.new
    Thread.new do
      mutex.synchronize do
        Monitor.new.synchronize do
          assert_empty(Guard.check.select { |one| one.kind == :held_lock })
        end
      end
    end.join
  end

  # What Guard's advice says, and why such a lock is only worth a note.
  test "is right that Ruby unlocks in a child what lost threads held" do
    mutex = Mutex.new
    monitor = Monitor.new
    holding(mutex, monitor) do
      pid, reader = in_child { |writer| writer.write([mutex.try_lock, monitor.try_enter].inspect) }
      assert_equal "[true, true]", wait_readable(reader).read
      Process.wait(pid)
    end
  end

  private

  def holding(mutex, monitor)
    ready = Queue.new
    done = Queue.new
    holder = Thread.new do
      mutex.synchronize { monitor.synchronize { (ready << true) && done.pop } }
    end
    ready.pop
    yield
  ensure
    done << true
    holder.join
  end
end
