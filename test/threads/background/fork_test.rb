# frozen_string_literal: true

require "test_helper"
require "skep/threads"

# What a forked child has of its parent's Backgrounds: restart, and inherit.
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

  test "an eager one runs in the child at once" do
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

  test "an eager one is found again after its heap was compacted" do
    out, err, = run_program(<<~RUBY)
      require "skep/threads"
      kept = Array.new(1_000) { Object.new }.each_slice(2).map(&:first)
      eager = Skep::Threads::Background.new("eager", restart: :eager) { |inbox| inbox.each { nil } }
      GC.respond_to?(:compact) ? GC.compact : GC.start
      Process.wait(fork { print eager.alive?, " ", kept.size })
    RUBY
    assert_equal ["true 500", ""], [out, err]
  end

  test "an eager one that was closed stays so in the child" do
    @worker = Background.new("eager", restart: :eager) { |inbox| inbox.each { nil } }
    before = registrations
    @worker.close
    assert_equal before - 1, registrations
    _, reader = in_child { |writer| writer.puts @worker.alive? }
    assert_equal "false\n", wait_readable(reader).read
    Process.wait
  end

  # In a child, as the few that a word on the stack may keep would have a thread in each one after.
  test "an eager one that everybody forgot isn't kept" do
    _, reader = in_child do |writer|
      before = registrations
      forgotten(50)
      GC.start
      2.times { Process.wait(fork { exit! }) }
      writer.puts registrations - before
    end
    assert_operator Integer(wait_readable(reader).read), :<, 25
    Process.wait
  end

  test "a lazy one waits in the child for its first use" do
    @worker = Background.new("lazy") { |inbox| inbox.each { |item| @did.push(item) } }
    _, reader = in_child do |writer|
      writer.puts @worker.alive?, @worker.push(1).alive?, @did.pop(timeout: 5), @worker.close
    end
    assert_equal "false\ntrue\n1\ntrue\n", wait_readable(reader).read
    Process.wait
  end

  test "one that never restarts refuses work in the child, and works on in the parent" do
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

  test "has a thread of its own in a child forked by its thread" do
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

  test "gives its items to the parent alone" do
    assert_equal [[9], [0, 1, 2]], done_after_a_fork(inherit: :parent)
  end

  test "gives its items to both, if it is to, but not the one in hand" do
    assert_equal [[1, 2, 9], [0, 1, 2]], done_after_a_fork(inherit: :items)
  end

  test "gives the child none, if it is to" do
    assert_equal [[9], [0, 1, 2]], done_after_a_fork(inherit: :none)
  end

  test "gives a grandchild what was in the child, if that never used it" do
    held(inherit: :items)
    _, reader = in_child do |writer|
      @gate.close
      pid, inner = in_child { |w| w.puts done_here.inspect }
      writer.write(inner.read)
      Process.wait(pid)
    end
    assert_equal "[1, 2, 9]\n", wait_readable(reader).read
    Process.wait
  end

  test "goes on after Process.daemon with what was in its inbox" do
    assert_equal "1\n2\n3\n", daemon("inherit: :parent")
    assert_equal "1\n2\n3\n", daemon("inherit: :items, restart: :eager")
    assert_equal "skep: the thread skep.d raised Skep::Threads::Background::ItemsDropped: 2 " \
                 "items were dropped so far, undone: push less, or give it a higher limit\n3\n",
                 daemon("inherit: :none")
  end

  test "hands on to a fork of a daemon what it would hand on to any" do
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

  test "works in the children of a forker that forks them from a child, as Spring does" do
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

  test "works in children forked in the midst of its work" do
    @worker = Background.new("busy", limit: 10) { |inbox| inbox.each { |item| @did.push(item) } }
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

  # What a child does, and what the parent, of 0 (in hand at the fork), 1 and 2 (waiting) and of 9,
  # pushed by the child.
  def done_after_a_fork(**terms)
    held(**terms)
    _, reader = in_child do |writer|
      @gate.close
      writer.puts done_here.inspect
    end
    theirs = wait_readable(reader).read
    Process.wait
    @gate.close
    assert @worker.close(timeout: 5)
    [theirs.scan(/\d/).map(&:to_i), all(@did)]
  end

  def done_here
    @worker.push(9)
    assert @worker.close(timeout: 5)
    all(@did)
  end

  # Has 0 in hand, waits with it for the gate; 1 and 2 are in its inbox.
  def held(**terms)
    taken = Inbox.new
    @worker = Background.new("held", **terms) do |inbox|
      inbox.each { |item| taken.push(item) && @gate.pop || @did.push(item) }
    end
    3.times { |item| @worker.push(item) }
    taken.pop(timeout: 10)
  end

  # What a program prints that becomes a daemon with 1 and 2 in the inbox, and pushes 3.
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

  # The blocks end by themselves, and nobody holds the Backgrounds.
  def forgotten(count)
    count.times { Background.new("gone", restart: :eager) { nil }.start }
    Thread.list.grep_v(Thread.current).each { |thread| thread.join if thread.name == "skep.gone" }
    nil
  end

  def registrations = Skep::Fork.callbacks.instance_variable_get(:@registrations).size

  def all(inbox) = Array.new(inbox.size) { inbox.pop }
end
