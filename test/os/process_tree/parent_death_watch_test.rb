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

  test "ties nobody in the fallback, and says so" do
    skip "the C does it" if Skep::OS.native?
    assert_equal [false, false, false],
                 [ParentDeathWatch.watch(Process.ppid, seconds: 0), ParentDeathWatch.renew,
                  ParentDeathWatch.watching?]
  end

  test "ends an orphan, whatever it does" do
    skip "it takes the C" unless Skep::OS.native?
    { "waits" => "IO.select(nil)", "is stuck in Ruby" => "loop {}", "is stuck in C" => STUCK,
      "is stopped" => "Process.kill(:STOP, $$)" }.each do |what, deed|
      assert_equal "", orphan("tied", deed), "it #{what}"
    end
  end

  test "gives an orphan its time" do
    skip "it takes the C" unless Skep::OS.native?
    work = 'IO.select(nil, nil, nil, 0.05) until Process.ppid != parent; print "finished"'
    watch = "Skep::OS::ProcessTree::ParentDeathWatch.watch(parent, seconds: 30)"
    assert_equal "finished", orphan(watch, work)
  end

  test "ends what an orphan has started with it" do
    skip "it takes the C" unless Skep::OS.native?
    work = 'system("sleep infinity & sleep infinity")'
    assert_equal "", orphan("Process.setpgid(0, 0); tied", work)
  end

  test "leaves those alone who have a parent of the family" do
    skip "it takes the C" unless Skep::OS.native?
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

  test "takes no SIGCONT for an orphan's, and hands it on" do
    skip "it takes the C" unless Skep::OS.native?
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      heard, said = IO.pipe
      Signal.trap("CONT") { said.write "c" }
      Skep::OS::ProcessTree::ParentDeathWatch.watch(Process.ppid, seconds: 0)
      3.times { Process.kill(:CONT, $$) && print(heard.readpartial(9)) }
      Signal.trap("CONT") { said.write "d" } # takes the handler away
      Skep::OS::ProcessTree::ParentDeathWatch.renew
      Skep::OS::ProcessTree::ParentDeathWatch.renew
      Process.kill(:CONT, $$)
      print heard.readpartial(9)
      pid = fork { print Skep::OS::ProcessTree::ParentDeathWatch.watching?, Skep::OS::ProcessTree::ParentDeathWatch.renew; Process.kill(:CONT, $$) }
      print Process.wait2(pid).last.exitstatus
    RUBY
    assert_equal ["cccdfalsefalse0", ""], [out, err]
  end

  test "ends one whose family had gone before it was tied" do
    skip "it takes the C" unless Skep::OS.native?
    out, = run_program(<<~RUBY)
      require "skep/os"
      gone = Process.wait2(fork { exit!(0) }).first
      Process.setpgid(0, 0)
      Skep::OS::ProcessTree::ParentDeathWatch.watch(gone, seconds: 0)
      print "still here"
    RUBY
    assert_equal "", out
  end

  test "is tied again after a change of user" do
    skip "it takes the C, and root" unless Skep::OS.native? && Process.uid.zero?
    deed = "require 'fiddle'; Process::UID.change_privilege(65_534); " \
           "Skep::OS::ProcessTree::ParentDeathWatch.renew; #{STUCK}"
    assert_equal "", orphan("tied", deed)
  end

  private

  # What a process writes whose parent dies once it has said to be tied;
  # the output's end is the end of all that have it open.
  def orphan(tie, deed)
    out, err, = run_program(<<~RUBY)
      require "skep/os"
      parent = Process.pid
      ready, said = IO.pipe
      tied = -> { Skep::OS::ProcessTree::ParentDeathWatch.watch(parent, seconds: 0.2) }
      fork do
        #{tie.sub("tied", "tied.call")}
        Thread.new { said.write "t" }.join
        #{deed}
      end
      ready.getc
      exit!(0)
    RUBY
    assert_equal "", err
    out
  end
end
