# frozen_string_literal: true

require "test_helper"
require "pty"
require "skep/work"

# Whole programs with a map that are interrupted or killed, or show progress, as with the gem
# parallel. Each leads a process group, as in a terminal.
class MapLikeParallelProgramsTest < Skep::TestCase
  MAPPING = <<~RUBY
    require "skep/work"
    $stdout.sync = true
    reader, writer = IO.pipe
    at_exit { puts "at_exit" }
    Skep.map(1..100, nodes: 3) { |item| puts "busy"; reader.read(1) }
    puts "never here"
  RUBY
  PROGRESS = <<~RUBY
    require "skep/work"
    Skep.map(1..10, nodes: 2, progress: true) { 2 }
    puts Skep.map(1..10, nodes: 2, progress: "Doing stuff") { 2 }.sum
  RUBY
  LOAD_PATH = File.expand_path("../../../load_path", __dir__)
  BARE = { "RUBYOPT" => nil, "BUNDLER_SETUP" => nil }.freeze
  private_constant :MAPPING, :PROGRESS, :LOAD_PATH, :BARE

  test "ends with all its nodes when a terminal interrupts its group" do
    out, err, status = interrupted(MAPPING) { |pid| Process.kill(:INT, -pid) }
    assert_equal [2, false], [status.termsig, out.include?("never here")]
    assert_equal 1, out.scan("at_exit").size
    assert_equal 1, err.scan(/Interrupt/).size, err
  end

  test "ends with all its nodes when only the program is interrupted" do
    out, _, status = interrupted(MAPPING) { |pid| Process.kill(:INT, pid) }
    assert_equal [2, false], [status.termsig, out.include?("never here")]
  end

  # Without prctl(2) nodes end after the item in progress.
  [:TERM, :HUP, *(:KILL if Skep::OS.native?)].each do |signal|
    test "leaves no node behind when it is ended by #{signal}" do
      _, _, status = interrupted(MAPPING) { |pid| Process.kill(signal, pid) }
      assert_equal Signal.list.fetch(signal.name), status.termsig
    end
  end

  test "leaves the program's own trap in effect" do
    out, err, status = interrupted(<<~RUBY) { |pid| Process.kill(:INT, -pid) }
      require "skep/work"
      $stdout.sync = true
      reader, writer = IO.pipe
      trap(:INT) { puts "YES"; exit 0 }
      Skep.map(1..20, nodes: 3) { puts "busy"; reader.read(1); puts "should be killed earlier" }
    RUBY
    assert_equal [true, ""], [status.success?, err]
    assert_equal 1, out.scan("YES").size
    refute_match(/killed earlier/, out)
  end

  test "leaves traps as they were" do
    out, = run_program(<<~RUBY)
      require "skep/work"
      before = %w[INT TERM CHLD HUP].to_h { |name| [name, trap(name, "DEFAULT")] }
      Skep.map([1, 2], nodes: 2) { |item| item }
      print %w[INT TERM CHLD HUP].map { |name| trap(name, "DEFAULT") }.uniq
    RUBY
    assert_equal %(["DEFAULT"]), out
  end

  test "a program can handle an interrupt after a map" do
    out, _, status = interrupted(<<~RUBY) { |pid| Process.kill(:INT, -pid) }
      require "skep/work"
      $stdout.sync = true
      reader, writer = IO.pipe
      Skep.map(1..3, nodes: 2) { |item| print "I finished \#{item}\\n" }
      begin
        puts "busy\\nbusy\\nbusy"
        reader.read(1)
      rescue Interrupt
        puts "interrupted here"
      end
    RUBY
    assert_equal [3, true], [out.scan("I finished").size, status.success?]
    assert_match(/interrupted here/, out)
  end

  test "writes each output of the program once" do
    out, = run_program(<<~RUBY)
      require "skep/work"
      print "before " # buffered here as in each node
      Skep.map(1..4, nodes: 2) { |item| print "item " }
      print "after"
    RUBY
    assert_equal ["before", "after", *["item"] * 4].sort, out.split.sort
  end

  test "shows no progress without a terminal" do
    out, err, = run_program(PROGRESS)
    assert_equal ["20\n", ""], [out, err]
  end

  test "shows progress with its title in a terminal" do
    reader, writer, pid = PTY.spawn(BARE, RbConfig.ruby, "-r#{LOAD_PATH}", "-e", PROGRESS)
    writer.close
    shown = text_of(reader)
    Process.wait(pid)
    assert_match(/Doing stuff.*20/m, shown)
  ensure
    [reader, writer].each(&:close)
  end

  private

  # Runs it until three nodes are busy, and yields its pid. Returns at the EOF of its output.
  def interrupted(program)
    pipes = Array.new(2) { IO.pipe }
    (out, out_writer), (err, err_writer) = pipes
    command = [RbConfig.ruby, "-w", "-r#{LOAD_PATH}", "-e", program]
    pid = spawn_on([out_writer, err_writer], BARE, command)
    text = +""
    text << wait_readable(out).readpartial(4_096) until text.scan("busy").size >= 3
    yield pid
    text << wait_readable(out).read
    [text, err.read, Process.wait2(pid).last]
  ensure
    pipes.flatten.each(&:close)
  end

  # A terminal that no process has open any more returns EIO.
  def text_of(reader)
    text = +""
    text << wait_readable(reader).readpartial(4_096) while true
  rescue EOFError, Errno::EIO
    text
  end
end
