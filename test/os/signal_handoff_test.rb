# frozen_string_literal: true

require "test_helper"
require "skep/os"

# Signals from one program of a process to the next.
class SignalHandoffTest < Skep::TestCase
  SignalHandoff = Skep::OS::SignalHandoff
  TIMES = 4
  private_constant :SignalHandoff, :TIMES

  # Executes itself so many times, and says so; each HUP is answered, too.
  PROGRAM = <<~'RUBY'
    require "skep/os"
    held = Skep::OS::SignalHandoff
    abort "it was in vain" if held.refused? || ENV["LD_PRELOAD"]&.include?("signal_preload")
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

  test "can't be held by the fallback" do
    skip "it is the fallback's" if SignalHandoff.supported?
    assert_raises(Skep::OS::Unsupported) { SignalHandoff.hold(%w[HUP]) }
    assert_raises(Skep::OS::Unsupported) { SignalHandoff.take_back }
  end

  test "what comes while they are held comes when they are taken back, to the same handlers" do
    skip "it takes the C" unless SignalHandoff.supported?
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

  test "a handler that raises leaves nothing held" do
    skip "it takes the C" unless SignalHandoff.supported?
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
      # The next signal once the last is handled: a flood of them may leave no time for anything else.
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

  test "not one is lost from program to program, whichever thread takes it" do
    skip "it takes the C" unless SignalHandoff.supported?
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

  test "what else is preloaded stays so" do
    skip "it takes the C" unless SignalHandoff.supported?
    pipe = IO.pipe
    others = SignalHandoff.environment(%w[HUP], pipe.last, env: { "LD_PRELOAD" => "libc.so.6" })
    said, = run_program(<<~RUBY, env: others)
      p ENV.keys.grep(/SKEP_(SIGNAL_PRELOAD|PRELOADED)/), ENV["LD_PRELOAD"]
    RUBY
    assert_equal "[]\n\"libc.so.6\"\n", said
  ensure
    pipe&.each(&:close)
  end

  private

  # Signals again as soon as the one before was answered, until the last program is there; returns
  # how often.
  def answers(pid, reader)
    pidfd = Skep.pidfd(pid)
    said = wait_readable(reader).readpartial(1)
    (1..).each do |sent|
      return sent if said.count("p") > TIMES

      pidfd.signal(:HUP)
      said << wait_readable(reader).readpartial(16) until said.count("h") == sent
    end
  ensure
    pidfd&.close
  end
end
