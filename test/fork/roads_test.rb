# frozen_string_literal: true

require "test_helper"

# Every road by which Ruby forks, each in a program of its own.
class RoadsTest < Skep::TestCase
  # Prints "before", "parent" and "child" with the pid's role, each line at once.
  PRELUDE = <<~RUBY
    require "skep/fork"
    $stdout.sync = true
    %i[before parent child].each do |moment|
      Skep.on_fork(moment => -> { $stdout.write("\#{moment} \#{Skep.generation}\\n") })
    end
  RUBY
  private_constant :PRELUDE

  {
    "fork with a block" => "fork { exit! }; Process.wait",
    "fork without a block" => "fork ? Process.wait : exit!",
    "Process.fork" => "Process.fork { exit! }; Process.wait",
    "Kernel.fork" => "Kernel.fork { exit! }; Process.wait",
    "fork of another object" => "Object.new.send(:fork) { exit! }; Process.wait",
    "fork in a thread" => "Thread.new { fork { exit! }; Process.wait }.join",
    "IO.popen of a dash" => 'IO.popen("-") { |io| io ? $stdout.write(io.read) : exit! }',
    "open of a pipe and a dash" =>
      '$VERBOSE = nil; open("|-") { |io| io ? $stdout.write(io.read) : exit! }'
  }.each do |road, program|
    test "sees #{road} once" do
      assert_equal ["before 0", "child 1", "parent 0"], walk(program)
    end
  end

  test "sees Process.daemon once, whose parent ends at the fork" do
    assert_equal ["before 0", "child 1"], walk("Process.daemon(true, true)")
  end

  test "sees a fork of a fork" do
    lines = walk("fork { fork { exit! }; Process.wait; exit! }; Process.wait")
    assert_equal ["before 0", "before 1", "child 1", "child 2", "parent 0", "parent 1"], lines
  end

  test "sees nothing where another program is started" do
    assert_empty walk("system('true'); `true`; IO.popen('true').close; Process.wait(spawn('true'))")
  end

  # Ruby goes on trying for ever where the kernel is out of processes: another thread ends that.
  test "calls the parents' callbacks when the kernel refuses to fork" do
    program = <<~RUBY
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      asked, asks = IO.pipe
      Thread.new(Thread.main) { |main| asked.read(1) && main.raise(Errno::EAGAIN) }
      Process.setrlimit(:NPROC, 0)
      Skep.on_fork(before: -> { asks.write("!") })
      begin
        fork { $stdout.write("forked\n") }
      rescue Errno::EAGAIN
        $stdout.write("refused\n")
      end
    RUBY
    assert_equal ["before 0", "parent 0", "refused"], walk(program)
  end

  test "lets other gems in front and behind" do
    gem = "Module.new { def _fork = super.tap { |pid| $stdout.write(\"%s\\n\") if pid.zero? } }"
    front = "Process.singleton_class.prepend(#{format(gem, "front")})"
    behind = "Process.singleton_class.prepend(#{format(gem, "behind")})"
    expected = ["before 0", "behind", "child 1", "front", "parent 0"]
    assert_equal expected, walk("#{front}; fork { exit! }; Process.wait", first: behind)
  end

  test "goes on as a child when another gem's hook raises in it" do
    gem = "Module.new { def _fork = super.zero? ? raise('gem') : 1 }"
    gem = "Process.singleton_class.prepend(#{gem})"
    program = "begin; fork; rescue RuntimeError; puts 'raised'; exit!; end; Process.wait"
    assert_equal ["before 0", "child 1", "parent 0", "raised"], walk(program, first: gem)
  end

  test "hooks once however often it is loaded" do
    program = "$VERBOSE = nil; load 'skep/fork/process_patch.rb'; fork { exit! }; Process.wait"
    assert_equal ["before 0", "child 1", "parent 0"], walk(program)
  end

  test "reports on stderr what a callback raises" do
    program = "Skep.on_fork(child: -> { raise \"a\\nb\" })\nfork { exit! }; Process.wait"
    out, err, = run_program("#{PRELUDE}#{program}")
    assert_equal 3, out.lines.size
    assert_match(/\Askep: pid=\d+ the child callback of -e:6 raised RuntimeError: a b \(-e.*\)\n\z/,
                 err)
  end

  private

  # What the program printed, in alphabetical order as several processes print at once.
  def walk(program, first: "")
    out, err, status = run_program("#{first}\n#{PRELUDE}#{program}", timeout: 20)
    assert_equal "", err
    assert_predicate status, :success?
    out.lines(chomp: true).sort
  end
end
