# frozen_string_literal: true

require "test_helper"

# Every way in which Ruby forks, each in a program of its own.
class ForkMethodsTest < Skep::TestCase
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
  }.each do |way, program|
    test "runs the callbacks once around #{way}" do
      assert_equal ["before 0", "child 1", "parent 0"], lines_of(program)
    end
  end

  test "runs the callbacks once around Process.daemon, whose parent ends" do
    assert_equal ["before 0", "child 1"], lines_of("Process.daemon(true, true)")
  end

  test "runs the callbacks around a fork in a child" do
    lines = lines_of("fork { fork { exit! }; Process.wait; exit! }; Process.wait")
    assert_equal ["before 0", "before 1", "child 1", "child 2", "parent 0", "parent 1"], lines
  end

  test "runs no callback if another program is started" do
    program = "system('true'); `true`; IO.popen('true').close; Process.wait(spawn('true'))"
    assert_empty lines_of(program)
  end

  # Ruby retries for ever if no process is left, so another thread interrupts it.
  test "runs the parent callbacks if the kernel refuses to fork" do
    program = <<~RUBY
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      reader, writer = IO.pipe
      Thread.new(Thread.main) { |main| reader.read(1) && main.raise(Errno::EAGAIN) }
      Process.setrlimit(:NPROC, 0)
      Skep.on_fork(before: -> { writer.write("!") })
      begin
        fork { $stdout.write("forked\n") }
      rescue Errno::EAGAIN
        $stdout.write("refused\n")
      end
      exit!(true) # Ruby's own end of the other thread may need a thread, which the limit forbids
    RUBY
    assert_equal ["before 0", "parent 0", "refused"], lines_of(program)
  end

  test "works with other gems' hooks before and after it" do
    gem = "Module.new { def _fork = super.tap { |pid| $stdout.write(\"%s\\n\") if pid.zero? } }"
    front = "Process.singleton_class.prepend(#{format(gem, "front")})"
    behind = "Process.singleton_class.prepend(#{format(gem, "behind")})"
    expected = ["before 0", "behind", "child 1", "front", "parent 0"]
    assert_equal expected, lines_of("#{front}; fork { exit! }; Process.wait", first: behind)
  end

  test "runs the child callbacks if another gem's hook raises in the child" do
    gem = "Module.new { def _fork = super.zero? ? raise('gem') : 1 }"
    gem = "Process.singleton_class.prepend(#{gem})"
    program = "begin; fork; rescue RuntimeError; puts 'raised'; exit!; end; Process.wait"
    assert_equal ["before 0", "child 1", "parent 0", "raised"], lines_of(program, first: gem)
  end

  test "hooks once, however often its file is loaded" do
    program = "$VERBOSE = nil; load 'skep/fork/process_patch.rb'; fork { exit! }; Process.wait"
    assert_equal ["before 0", "child 1", "parent 0"], lines_of(program)
  end

  test "reports an error of a callback on stderr" do
    program = "Skep.on_fork(child: -> { raise \"a\\nb\" })\nfork { exit! }; Process.wait"
    out, err, = run_program("#{PRELUDE}#{program}")
    assert_equal 3, out.lines.size
    assert_match(/\Askep: pid=\d+ the child callback of -e:6 raised RuntimeError: a b \(-e.*\)\n\z/,
                 err)
  end

  private

  # Returns the lines that the program printed, sorted because several processes print at once.
  def lines_of(program, first: "")
    out, err, status = run_program("#{first}\n#{PRELUDE}#{program}", timeout: 20)
    assert_equal "", err
    assert_predicate status, :success?
    out.lines(chomp: true).sort
  end
end
