# frozen_string_literal: true

require "test_helper"
require "skep/threads"
require "tmpdir"

# A Background's items when its process ends.
class BackgroundExitTest < Skep::TestCase
  test "processes its inbox before the process exits" do
    assert_equal ["0\n1\n2\n", "", 3], ended("3.times { |n| WORKER.push(n) }; exit 3")
  end

  test "processes its inbox when the main thread raises" do
    out, err, code = ended(%(WORKER.push("last"); raise "oops"))
    assert_equal ["last\n", 1], [out, code]
    assert_match(/oops/, err)
  end

  test "processes its inbox when the process receives TERM" do
    out, _, status = program(<<~RUBY)
      WORKER.push("last")
      Process.kill(:TERM, Process.pid)
      Thread.stop
    RUBY
    assert_equal ["last\n", Signal.list["TERM"]], [out, status.termsig]
  end

  test "processes its inbox at the exit of a forked child, too" do
    assert_equal ["child\nparent\n", "", 0], ended(<<~RUBY)
      Process.wait(fork { WORKER.push("child") })
      WORKER.push("parent")
    RUBY
  end

  test "processes its inbox after the heap was compacted" do
    assert_equal ["1\n2\n", "", 0], ended(<<~RUBY)
      WORKER.push(1)
      GC.respond_to?(:compact) ? GC.compact : GC.start
      WORKER.push(2)
    RUBY
  end

  test "processes nothing after exit!" do
    assert_equal ["", "", 0], ended("GATE.lock; WORKER.push(1); exit!(0)")
  end

  test "drain processes the inbox before exit!" do
    assert_equal ["1\n", "", 0], ended(<<~RUBY)
      WORKER.push(1)
      Skep::Threads::Background.drain
      exit!(0)
    RUBY
  end

  test "exit waits for `drain` seconds, and reports the items that are left" do
    out, err, code = ended("GATE.lock; 3.times { |n| WORKER.push(n) }; TAKEN.pop", "drain: 0.01")
    assert_equal ["", 0], [out, code]
    raised = /\Askep: pid=\d+ the thread skep.w raised .*DrainTimeout: it wasn't done in the 0.01/
    assert_match(raised, err)
    assert_match(/with 2 items left: close it before, or give it more time by drain:$/, err)
  end

  test "exit doesn't wait with drain: 0 or nil" do
    assert_equal ["", "", 0], ended("GATE.lock; WORKER.push(1); TAKEN.pop", "drain: 0")
    assert_equal ["", "", 0], ended("GATE.lock; WORKER.push(1); TAKEN.pop", "drain: nil")
  end

  test "exit doesn't wait for a Background that never had an item" do
    assert_equal ["", "", 0], ended(<<~RUBY)
      Skep::Threads::Background.new("ticker", drain: 3_600) { Thread.stop }
    RUBY
  end

  test "pushes to an older Background at exit, too" do
    assert_equal ["a\nb\n", "", 0], ended(<<~RUBY)
      FIRST = Skep::Threads::Background.new("first") { |inbox| inbox.each { |i| WORKER.push(i) } }
      %w[a b].each { |item| FIRST.push(item) }
    RUBY
  end

  test "accepts items of at_exit blocks that were registered after it" do
    assert_equal ["late\n", "", 0], ended(%(at_exit { WORKER.push("late") }))
  end

  test "raises Closed in at_exit blocks that were registered before it" do
    out, err, = program("", before: <<~RUBY)
      at_exit { WORKER.push("too late") }
    RUBY
    assert_equal "", out
    assert_match(/the background thread skep.w is closed/, err)
  end

  test "exit inside its block ends the process" do
    assert_equal ["", "", 7], ended(<<~RUBY)
      quitter = Skep::Threads::Background.new("q") { |inbox| exit(inbox.pop) }
      quitter.push(7)
      Thread.stop
    RUBY
  end

  test "drains when IRB ends" do
    Dir.mktmpdir do |directory|
      File.write("#{directory}/session.rb", <<~RUBY)
        require "skep/threads"
        worker = Skep::Threads::Background.new("w") { |i| i.each { |item| puts "did \#{item}" } }
        3.times { |number| worker.push(number) }
        exit
      RUBY
      out, = run_program(%(begin; require "irb"; rescue LoadError; exit!; end
                           ARGV.replace(["-f", "--noecho", "#{directory}/session.rb"])
                           IRB.start))
      skip "this Ruby has no IRB" if out.empty?
      assert_equal %w[0 1 2], out.scan(/^did (\d)/).flatten
    end
  end

  private

  # Returns the program's output, its stderr and its exit code.
  def ended(source, options = "drain: 5")
    out, err, status = program(source, options)
    [out, err, status.exitstatus]
  end

  # Runs a program with a WORKER that prints its items once the GATE is unlocked.
  def program(source, options = "drain: 5", before: "")
    run_program(<<~RUBY)
      #{before}
      require "skep/threads"
      $stdout.sync = true
      GATE = Mutex.new
      TAKEN = Skep::Threads::Inbox.new
      WORKER = Skep::Threads::Background.new("w", #{options}) do |inbox|
        inbox.each { |item| TAKEN.push(item) && GATE.synchronize { puts item } }
      end
      #{source}
    RUBY
  end
end
