# frozen_string_literal: true

require "test_helper"

# Each test runs a program of its own, because "skep/cow_fork" patches Ruby.
class CowForkTest < Skep::TestCase
  # Prints "warm" at each warmup.
  PRELUDE = <<~RUBY
    require "skep/cow_fork"
    $stdout.sync = true
    Skep::Fork::Warmup.prepend(Module.new { def run = $stdout.write("warm\n") && super })
    def forks(**options) = Process.wait(fork(**options) { exit!(0) })
    def build(size) = ($heap ||= []) << Array.new(size) { |number| [number] }
  RUBY
  private_constant :PRELUDE

  {
    "fork with a block" => "fork { exit! }; Process.wait",
    "fork without a block" => "fork ? Process.wait : exit!",
    "Process.fork" => "Process.fork { exit! }; Process.wait",
    "Kernel.fork" => "Kernel.fork { exit! }; Process.wait",
    "fork of another object" => "Object.new.send(:fork) { exit! }; Process.wait",
    "fork in a thread" => "Thread.new { fork { exit! }; Process.wait }.join",
    "fork in a trap handler" => <<~RUBY
      trap(:USR1) { forks }
      Process.kill(:USR1, Process.pid)
    RUBY
  }.each do |way, program|
    test "warms up before the first #{way}" do
      assert_equal "warm\n", output_of(program)
    end
  end

  test "doesn't warm up before IO.popen, Process.daemon, system and spawn" do
    assert_equal "", output_of('IO.popen("-") { |io| io ? io.read : exit! }')
    assert_equal "", output_of("Process.daemon(true, true)")
    assert_equal "", output_of("system('true'); Process.wait(spawn('true'))")
  end

  test "doesn't warm up if either keyword is false" do
    assert_equal "", output_of("forks(cow_friendly: false); forks(nakayoshi: false)")
    assert_equal "", output_of(<<~RUBY)
      Process.wait(Process.fork(cow_friendly: false) { exit! })
      Process.wait(Kernel.fork(nakayoshi: false, cow_friendly: true) { exit! })
    RUBY
    assert_equal "warm\n", output_of("forks(cow_friendly: true, nakayoshi: true)")
  end

  test "raises for what fork raises for, and is private where fork is" do
    assert_equal <<~TEXT, output_of(<<~RUBY)
      ArgumentError unknown keyword: :friendly
      ArgumentError wrong number of arguments (given 1, expected 0)
      NoMethodError private method
    TEXT
      [-> { fork(friendly: true) }, -> { Process.fork(1) }, -> { Object.new.fork }].each do |call|
        call.call
      rescue NoMethodError, ArgumentError => e
        puts "\#{e.class} \#{e.message[/\\Aprivate method|.*/]}"
      end
    RUBY
  end

  test "returns what fork returns on both sides" do
    assert_equal "nil\ntrue 3\n", output_of(<<~RUBY)
      pid = fork(cow_friendly: false)
      (puts pid.inspect; exit!(3)) unless pid
      puts "\#{Process.wait2(pid).then { |same, status| "\#{same == pid} \#{status.exitstatus}" }}"
    RUBY
  end

  test "does nothing if the heap has hardly changed, also in a forked child" do
    assert_equal "warm\n0\n0\n", output_of(<<~RUBY)
      forks
      collections = -> { before = GC.count; forks; GC.count - before }
      GC.disable # so that only the fork collects
      puts collections.call
      fork { puts collections.call; exit! }
      Process.wait
    RUBY
  end

  test "runs a minor collection if there are young objects" do
    assert_equal "warm\n[1, 0]\n", output_of(<<~RUBY)
      build(50_000)
      forks
      GC.disable # so that only the fork collects
      build(10_000)
      before = GC.stat.values_at(:minor_gc_count, :major_gc_count)
      forks
      p GC.stat.values_at(:minor_gc_count, :major_gc_count).zip(before).map { |now, was| now - was }
    RUBY
  end

  test "warms up again once the heap has grown by half" do
    assert_equal "warm\nwarm\n", output_of("forks; build(200_000); forks; forks")
  end

  test "doesn't repeat a warmup of the program's own" do
    assert_equal "warm\nfalse\n", output_of(<<~RUBY)
      Skep.warmup(huge_pages: false)
      forks
      puts Skep::Fork::CowFork.report.to_plain.key?("huge_pages")
    RUBY
  end

  test "report returns the report of the last warmup" do
    assert_equal "nil\nwarm\ntrue\n", output_of(<<~RUBY)
      p Skep::Fork::CowFork.report
      forks
      p Skep::Fork::CowFork.report.seconds.positive?
    RUBY
  end

  test "forks although the warmup raises, and reports it once" do
    program = 'Skep::Fork::Warmup.prepend(Module.new { def run = raise("no\nway") })'
    out, err, = run_program("#{PRELUDE}#{program}\n2.times { forks; puts $?.exitstatus }")
    assert_equal "0\n0\n", out
    assert_match(/\Askep: pid=\d+ the warmup before a fork raised RuntimeError: no way .*\n\z/, err)
  end

  test "defers another thread's exception until after the warmup, and doesn't fork" do
    assert_equal "warm\nlate\n", output_of(<<~RUBY)
      main = Thread.main
      Skep::Fork::Warmup.prepend(Module.new { define_method(:run) { main.raise("late"); super() } })
      begin
        fork { puts "forked" }
      rescue RuntimeError => e
        puts e.message
      end
    RUBY
  end

  test "doesn't wait for another thread's warmup, and the child can warm up" do
    assert_equal "forked\nwarm\n", output_of(<<~RUBY)
      begun, over = Queue.new, Queue.new
      slow = Module.new { define_method(:run) { (begun << 1) && over.pop && super() } }
      Skep::Fork::Warmup.prepend(slow)
      thread = Thread.new { forks }
      begun.pop
      fork { puts "forked"; over << 1; forks; exit! }
      Process.wait
      thread.kill.join
    RUBY
  end

  test "does nothing in a Ractor" do
    assert_equal "nil\n", output_of(<<~RUBY)
      Warning[:experimental] = false
      ractor = Ractor.new { Skep::Fork::CowFork.prepare }
      p ractor.respond_to?(:value) ? ractor.value : ractor.take
    RUBY
  end

  {
    "after skep/fork" => 'require "skep/fork"; require "skep/cow_fork"',
    "before skep/fork" => 'require "skep/cow_fork"; require "skep/fork"',
    "twice" => 'require "skep/cow_fork"; $VERBOSE = nil; load "skep/cow_fork.rb"; ' \
               'load "skep/fork/cow_fork.rb"; load "skep/fork/cow_fork/heap_stats.rb"'
  }.each do |order, requires|
    test "can be loaded #{order}" do
      callback = 'Skep.on_fork(before: -> { $stdout.write("before\n") })'
      assert_equal "warm\nbefore\nbefore\n", output_of("#{callback}; forks; forks", first: requires)
    end
  end

  test "works with other gems' patches before and after it" do
    gem = 'Module.new { def fork(**) = $stdout.write("gem\n") && super }'
    assert_equal "gem\nwarm\ngem\n", output_of("Object.prepend(#{gem}); forks",
                                               first: "Kernel.prepend(#{gem})")
  end

  test "requiring skep patches nothing" do
    out, = run_program('require "skep"; p Kernel.ancestors, Process.method(:fork).owner')
    assert_equal "[Kernel]\n#<Class:Process>\n", out
  end

  private

  def output_of(program, first: "")
    out, err, status = run_program("#{first}\n#{PRELUDE}#{program}", timeout: 30)
    assert_equal "", err
    assert_predicate status, :success?
    out
  end
end
