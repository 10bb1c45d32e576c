# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ParentDeathWatchTest < Skep::TestCase
  ParentDeathWatch = Skep::OS::ProcessTree::ParentDeathWatch
  # Blocks for ever in C with the GVL: a mutex locked twice.
  STUCK = <<~RUBY
    require "fiddle"
    lock = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_mutex_lock"], [Fiddle::TYPE_VOIDP],
                                Fiddle::TYPE_INT, need_gvl: true)
    mutex = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
    mutex[0, 64] = "\\0" * 64
    2.times { lock.call(mutex) }
  RUBY
  private_constant :ParentDeathWatch, :STUCK

  test "the fallback watches nothing, and returns false" do
    skip "the C extension supports it" if Skep::OS.native?
    assert_equal [false, false, false],
                 [ParentDeathWatch.watch(Process.ppid, seconds: 0), ParentDeathWatch.renew,
                  ParentDeathWatch.watching?]
  end

  test "ends an orphan that waits, loops, blocks in C or is stopped" do
    skip "it needs the C extension" unless Skep::OS.native?
    { "waits" => "IO.select(nil)", "loops in Ruby" => "loop {}", "blocks in C" => STUCK,
      "is stopped" => "Process.kill(:STOP, $$)" }.each do |state, code|
      assert_equal "", orphan("watched", code), "it #{state}"
    end
  end

  test "lets an orphan finish within `seconds`" do
    skip "it needs the C extension" unless Skep::OS.native?
    work = 'IO.select(nil, nil, nil, 0.05) until Process.ppid != parent; print "finished"'
    watch = "Skep::OS::ProcessTree::ParentDeathWatch.watch(parent, seconds: 30)"
    assert_equal "finished", orphan(watch, work)
  end

  test "ends the processes that an orphan has started, too" do
    skip "it needs the C extension" unless Skep::OS.native?
    work = 'system("sleep infinity & sleep infinity")'
    assert_equal "", orphan("Process.setpgid(0, 0); watched", work)
  end

  test "doesn't end a process whose new parent is the given subreaper" do
    skip "it needs the C extension" unless Skep::OS.native?
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      Skep::OS::ProcessTree::Prctl.subreaper!
      subreaper = Process.pid
      reader, writer = IO.pipe
      middle = fork do
        parent = Process.pid
        fork do
          Skep::OS::ProcessTree::ParentDeathWatch.watch(parent, subreaper, seconds: 0)
          writer.write "t"
          writer.close
          nil until Process.ppid == subreaper
          Process.kill(:CONT, $$)
          exit!(7)
        end
        reader.getc
        exit!(0)
      end
      writer.close
      Process.wait(middle)
      print Process.wait2.last.exitstatus
    RUBY
    assert_equal ["7", ""], [out, err]
  end

  test "ignores other SIGCONTs, and calls the handler that was installed before" do
    skip "it needs the C extension" unless Skep::OS.native?
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      reader, writer = IO.pipe
      Signal.trap("CONT") { writer.write "c" }
      Skep::OS::ProcessTree::ParentDeathWatch.watch(Process.ppid, seconds: 0)
      3.times { Process.kill(:CONT, $$) && print(reader.readpartial(9)) }
      Signal.trap("CONT") { writer.write "d" } # replaces the watch's handler
      Skep::OS::ProcessTree::ParentDeathWatch.renew
      Skep::OS::ProcessTree::ParentDeathWatch.renew
      Process.kill(:CONT, $$)
      print reader.readpartial(9)
      pid = fork { print Skep::OS::ProcessTree::ParentDeathWatch.watching?, Skep::OS::ProcessTree::ParentDeathWatch.renew; Process.kill(:CONT, $$) }
      print Process.wait2(pid).last.exitstatus
    RUBY
    assert_equal ["cccdfalsefalse0", ""], [out, err]
  end

  test "ends a process whose parent had ended before the watch" do
    skip "it needs the C extension" unless Skep::OS.native?
    out, = run_program(<<~RUBY)
      require "skep/os"
      gone = Process.wait2(fork { exit!(0) }).first
      Process.setpgid(0, 0)
      Skep::OS::ProcessTree::ParentDeathWatch.watch(gone, seconds: 0)
      print "still here"
    RUBY
    assert_equal "", out
  end

  test "renew restores the watch after a change of user" do
    skip "it needs the C extension, and root" unless Skep::OS.native? && Process.uid.zero?
    code = "require 'fiddle'; Process::UID.change_privilege(65_534); " \
           "Skep::OS::ProcessTree::ParentDeathWatch.renew; #{STUCK}"
    assert_equal "", orphan("watched", code)
  end

  private

  # Returns what a process writes whose parent exits once the watch has begun. EOF means that all
  # processes with the output have ended.
  def orphan(watch, code)
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      parent = Process.pid
      ready, writer = IO.pipe
      watched = -> { Skep::OS::ProcessTree::ParentDeathWatch.watch(parent, seconds: 0.2) }
      fork do
        #{watch.sub("watched", "watched.call")}
        Thread.new { writer.write "t" }.join
        #{code}
      end
      ready.getc
      exit!(0)
    RUBY
    assert_equal "", err
    out
  end
end
