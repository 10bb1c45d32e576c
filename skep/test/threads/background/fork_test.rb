# frozen_string_literal: true

require "test_helper"
require "skep/threads"

# Backgrounds in a forked child: their items, and the option restart:.
class BackgroundForkTest < Skep::TestCase
  Background = Skep::Threads::Background
  Inbox = Skep::Threads::Inbox
  private_constant :Background, :Inbox

  def setup
    super
    @gate, @did = Array.new(2) { Inbox.new }
  end

  def teardown
    @gate.close
    @worker&.close(timeout: 5)
    super
  end

  test "an eager Background runs in the child at once" do
    IO.pipe do |reader, writer|
      @worker = Background.new("eager", restart: :eager) do |inbox|
        writer.puts Process.pid
        inbox.each { nil }
      end
      assert_equal Process.pid.to_s, wait_readable(reader).gets.chomp
      pid, = in_child { @worker.close(timeout: 5) }
      Process.wait(pid)
      assert_equal pid.to_s, wait_readable(reader).gets.chomp
      assert_predicate @worker, :alive?
    end
  end

  test "an eager Background runs in the child after the heap was compacted" do
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      kept = Array.new(1_000) { Object.new }.each_slice(2).map(&:first)
      eager = Skep::Threads::Background.new("eager", restart: :eager) { |inbox| inbox.each { nil } }
      GC.respond_to?(:compact) ? GC.compact : GC.start
      Process.wait(fork { print eager.alive?, " ", kept.size })
    RUBY
    assert_equal ["true 500", ""], [out, err]
  end

  test "an eager Background that was closed stays closed in the child" do
    @worker = Background.new("eager", restart: :eager) { |inbox| inbox.each { nil } }
    @worker.close
    _, reader = in_child { |writer| writer.puts @worker.alive? }
    assert_equal "false\n", wait_readable(reader).read
    Process.wait
  end

  # In a child: a few may still be referenced by the stack, and would start in each later child.
  test "an eager Background without a reference is collected" do
    _, reader = in_child do |writer|
      unreferenced(50)
      2.times { Process.wait(fork { exit! }) && GC.start }
      writer.puts ObjectSpace.each_object(Background).count
    end
    assert_operator Integer(wait_readable(reader).read), :<, 25
    Process.wait
  end

  test "a lazy Background starts in the child at its first push" do
    @worker = Background.new("lazy") { |inbox| inbox.each { |item| @did.push(item) } }
    _, reader = in_child do |writer|
      writer.puts @worker.alive?, @worker.push(1).alive?, @did.pop(timeout: 5), @worker.close
    end
    assert_equal "false\ntrue\n1\ntrue\n", wait_readable(reader).read
    Process.wait
  end

  test "with restart: :never the child raises WrongProcess, and the parent continues" do
    @worker = Background.new("home", restart: :never) { |inbox| inbox.each { |i| @did.push(i) } }
    _, reader = in_child do |writer|
      [-> { @worker.push(1) }, -> { @worker.start }].each do |act|
        writer.puts assert_raises(Background::WrongProcess, &act).message
      end
      writer.puts @worker.alive?, @worker.close
    end
    sentence = "the background thread skep.home is the parent's, by restart: :never: push there, " \
               "or make one here\n"
    assert_equal "#{sentence * 2}false\ntrue\n", wait_readable(reader).read
    @worker.push(2)
    assert_equal 2, @did.pop(timeout: 10)
    Process.wait
  end

  test "has a thread of its own in a child that its thread has forked" do
    @worker = Background.new("forker") do |inbox|
      inbox.each do |item|
        next @did.push(item) unless item == :fork

        pid, reader = in_child do |writer|
          writer.puts @worker.push(1).alive?, @did.pop(timeout: 5), @worker.close(timeout: 5)
        end
        @did.push([Process.wait2(pid).last.success?, reader.read])
      end
    end
    @worker.push(:fork)
    assert_equal [true, "true\n1\ntrue\n"], @did.pop(timeout: 10)
  end

  test "only the parent has the items that wait at a fork" do
    held
    _, reader = in_child do |writer|
      @gate.close
      @worker.push(9)
      writer.puts @worker.close(timeout: 5), all(@did).inspect
    end
    assert_equal "true\n[9]\n", wait_readable(reader).read
    Process.wait
    @gate.close
    assert @worker.close(timeout: 5)
    assert_equal [0, 1, 2], all(@did)
  end

  test "continues with its inbox after Process.daemon" do
    assert_equal "1\n2\n3\n", daemon("restart: :lazy")
    assert_equal "1\n2\n3\n", daemon("restart: :eager")
  end

  test "a child of a daemon inherits no items, like any child" do
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      inbox = Skep::Threads::Inbox.new.push(1).push(2)
      Process.daemon(true, true)
      IO.pipe do |reader, writer|
        fork { writer.write inbox.size }
        writer.close
        print reader.read, inbox.size
      end
    RUBY
    assert_equal ["02", ""], [out, err]
  end

  test "works in children of a child, as Spring forks them" do
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      $stdout.sync = true
      M = Skep::Threads::Background.new("m") { |inbox| inbox.each { |item| puts item } }
      M.push("server")
      server = fork do
        2.times { |n| Process.wait(fork { M.push("command-\#{n}") }) }
        M.push("app")
      end
      Process.wait(server)
    RUBY
    assert_equal ["", %w[app command-0 command-1 server]], [err, out.split.sort]
  end

  test "works in children that are forked while it is busy" do
    @worker = Background.new("busy") { |inbox| inbox.each { |item| @did.push(item) } }
    pushers = Array.new(2) { Thread.new { 2_000.times { |n| @worker.push(n) } } }
    20.times do
      _, reader = in_child do |writer|
        20.times { |n| @worker.push(n) }
        writer.puts @worker.close(timeout: 9)
      end
      assert_equal "true\n", wait_readable(reader).read
      Process.wait
    end
    pushers.each(&:join)
    assert @worker.close(timeout: 10)
    assert_equal 4_000, @did.size
  end

  private

  # Starts a Background in which 0 is in progress until the gate closes; 1 and 2 are in its inbox.
  def held
    taken = Inbox.new
    @worker = Background.new("held") do |inbox|
      inbox.each { |item| taken.push(item) && @gate.pop || @did.push(item) }
    end
    3.times { |item| @worker.push(item) }
    taken.pop(timeout: 10)
  end

  # Returns what a program prints that becomes a daemon with 1 and 2 in the inbox, and pushes 3.
  def daemon(options)
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      $stdout.sync = true
      D = Skep::Threads::Background.new("d", #{options}) do |inbox|
        Process.ppid == #{Process.pid} ? Thread.stop : inbox.each { |item| puts item }
      end
      D.push(1).push(2)
      Process.daemon(true, true)
      D.push(3).close(timeout: 5)
    RUBY
    err.sub(/pid=\d+ /, "") + out
  end

  # The blocks return at once, and nothing references the Backgrounds.
  def unreferenced(count)
    count.times { Background.new("gone", restart: :eager) { nil }.start }
    Thread.list.grep_v(Thread.current).each { |thread| thread.join if thread.name == "skep.gone" }
    nil
  end

  def all(inbox) = Array.new(inbox.size) { inbox.pop }
end
