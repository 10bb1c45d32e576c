# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Signals that arrive while a process executes another program.
class SignalHandoffTest < Skep::TestCase
  SignalHandoff = Skep::OS::SignalHandoff
  TIMES = 4
  private_constant :SignalHandoff, :TIMES

  # Executes itself so many times. Writes "p" in each program, and "h" for each HUP.
  PROGRAM = <<~'RUBY'
    require "skep/os"
    held = Skep::OS::SignalHandoff
    abort "no signal was held" if held.refused? || ENV["LD_PRELOAD"]&.include?("signal_preload")
    left, *numbers = ARGV.map { |text| Integer(text) }
    answers, *kept = *numbers.map { |number| IO.for_fd(number).tap { |io| io.close_on_exec = false } }
    busy = Thread.new { IO.select(nil) } # a thread that blocks nothing
    trap("HUP") { answers.syswrite("h") }
    held.kept(kept.first).each { answers.syswrite("h") } if kept.any?
    answers.syswrite("p")
    IO.select(nil) if left.zero?
    pipe = IO.pipe.each { |io| io.close_on_exec = false }
    held.hold(%w[HUP])
    exec(held.environment(%w[HUP], pipe.last), RbConfig.ruby, "-I", $LOAD_PATH.first, $PROGRAM_NAME,
         (left - 1).to_s, *[answers, *pipe].map { |io| io.fileno.to_s })
  RUBY
  private_constant :PROGRAM

  test "the fallback raises Unsupported" do
    skip "the C extension supports it" if SignalHandoff.supported?
    assert_raises(Skep::OS::Unsupported) { SignalHandoff.hold(%w[HUP]) }
    assert_raises(Skep::OS::Unsupported) { SignalHandoff.take_back }
  end

  test "signals that arrive while held reach the same handlers after take_back" do
    skip "it needs the C extension" unless SignalHandoff.supported?
    pid, reader = in_child do |writer|
      trap("HUP") { writer.syswrite("early ") }
      Process.kill(:HUP, Process.pid)
      SignalHandoff.hold(%w[HUP TERM])
      writer.syswrite("held ")
      2.times { Process.kill(:HUP, Process.pid) }
      SignalHandoff.take_back
      writer.syswrite("over")
    end
    assert_equal "early held early over", wait_readable(reader).read
    Process.wait(pid)
  end

  test "no signal stays held after a handler has raised" do
    skip "it needs the C extension" unless SignalHandoff.supported?
    out, = run_program(<<~'RUBY')
      require "skep/os"
      held, me = Skep::OS::SignalHandoff, Process.pid
      reader, writer = IO.pipe
      trap("HUP") { writer.syswrite("h") }
      handled, handler = IO.pipe
      trap("USR1") do
        handler.syswrite(".")
        raise "in a handler" if caller(1, 1).first.end_with?("block'") # the C of hold
      end
      ready, go = IO.pipe
      # Waits until each signal is handled: else they may leave no time for anything else.
      other = fork { go.syswrite("g"); loop { Process.kill(:USR1, me) && handled.readpartial(1) } }
      ready.getc
      raised = 0
      while raised < 3
        begin
          held.hold(%w[HUP])
          held.take_back
        rescue RuntimeError
          raised += 1
          Process.kill(:HUP, me)
          (print("lost") || break) unless reader.wait_readable(5)
          reader.readpartial(16)
        end
      end
      Process.kill(:KILL, other)
      Process.wait(other)
      puts "over"
    RUBY
    assert_equal "over\n", out
  end

  test "no signal is lost from program to program, whichever thread receives it" do
    skip "it needs the C extension" unless SignalHandoff.supported?
    Tempfile.create("held") do |file|
      file.write(PROGRAM)
      file.flush
      reader, writer = IO.pipe
      pid = Process.spawn(RbConfig.ruby, "-I#{Dir.pwd}/lib", file.path, TIMES.to_s,
                          writer.fileno.to_s, writer => writer)
      writer.close
      assert_operator answers(pid, reader), :>, 1
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      reader.close
    end
  end

  test "the next program preloads the other libraries that this one had" do
    skip "it needs the C extension" unless SignalHandoff.supported?
    pipe = IO.pipe
    others = SignalHandoff.environment(%w[HUP], pipe.last, env: { "LD_PRELOAD" => "libc.so.6" })
    out, = run_program(<<~RUBY, env: others)
      p ENV.keys.grep(/SKEP_(SIGNAL_PRELOAD|PRELOADED)/), ENV["LD_PRELOAD"]
    RUBY
    assert_equal "[]\n\"libc.so.6\"\n", out
  ensure
    pipe&.each(&:close)
  end

  private

  # Sends HUP again once the last was answered, until the last program runs. Returns how often.
  def answers(pid, reader)
    pidfd = Skep.pidfd(pid)
    received = wait_readable(reader).readpartial(1)
    (1..).each do |sent|
      return sent if received.count("p") > TIMES

      pidfd.signal(:HUP)
      received << wait_readable(reader).readpartial(16) until received.count("h") == sent
    end
  ensure
    pidfd&.close
  end
end
