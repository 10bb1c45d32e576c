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

  # In programs of their own: any thread of another test's could hold a lock just then.
  test "notes a Mutex and a Monitor that another thread holds, each once" do
    assert_equal <<~TOLD, output_of(<<~RUBY)
      note locks held by other threads (1 Monitor, 1 Mutex)
      let go
    TOLD
      require "monitor"
      mutex, monitor, held, over = Mutex.new, Monitor.new, Queue.new, Queue.new
      tell = -> { puts Skep::Fork::Guard.check.map { |one| one.to_h.values_at(:severity, :what).join(" ") } }
      holder = Thread.new { mutex.synchronize { monitor.synchronize { held.push(1) && over.pop } } }
      holder.thread_variable_set(:fork_safe, true)
      held.pop
      tell.call
      over.push(1)
      holder.join
      puts "let go"
      tell.call
    RUBY
  end

  test "passes those that the forking thread holds, and that nobody does" do
    assert_equal "", output_of(<<~RUBY)
      require "monitor"
      mutex, other = Mutex.new, Monitor.new
      idle = Thread.new { Thread.stop }.tap { |one| one.thread_variable_set(:fork_safe, true) }
      mutex.synchronize { Monitor.new.synchronize { puts Skep::Fork::Guard.check } }
      idle.kill && other.enter
    RUBY
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
