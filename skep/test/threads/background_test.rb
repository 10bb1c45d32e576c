# frozen_string_literal: true

require "test_helper"
require "skep/threads"

class BackgroundTest < Skep::TestCase
  Background = Skep::Threads::Background
  private_constant :Background

  def setup
    super
    @did = Skep::Threads::Inbox.new
    @reports = Skep::Threads::Inbox.new
    @backgrounds = []
  end

  def teardown
    @backgrounds.each { |background| background.close(timeout: 5) }
    super
  end

  test "starts a thread with its name at once" do
    background("mailer") { @did.push(Thread.current.name) }
    assert_equal "skep.mailer", @did.pop(timeout: 10)
  end

  test "the block receives the items in the order of their push" do
    worker = doer
    3.times { |number| worker.push(number) }
    assert_equal [0, 1, 2], take(3)
    assert_predicate worker, :alive?
  end

  test "close returns true once the inbox is empty" do
    worker = doer
    100.times { |number| worker.push(number) }
    assert worker.close(timeout: 5)
    assert_equal 100, @did.size
    refute_predicate worker, :alive?
    assert worker.close
  end

  test "push and start raise Closed after close, with the thread's name" do
    worker = doer
    worker.close
    [-> { worker.push(1) }, -> { worker.start }].each do |act|
      error = assert_raises(Background::Closed, &act)
      assert_kind_of Skep::Threads::Inbox::Closed, error
      assert_equal "the background thread skep.doer is closed: push before close, or make another",
                   error.message
    end
  end

  test "close returns false at its timeout, and the thread continues" do
    gate = Skep::Threads::Inbox.new
    worker = background("slow") { |inbox| inbox.each { @did.push(gate.pop(timeout: 10)) } }
    worker.push(1)
    refute worker.close(timeout: 0.01)
    assert_predicate worker, :alive?
    gate.push(:opened)
    assert worker.close(timeout: 5)
    assert_equal :opened, @did.pop(timeout: 10)
  end

  test "close returns false inside its own block" do
    worker = background("closer") { |inbox| @did.push(inbox.pop.call) }
    worker.push(-> { worker.close })
    assert_equal false, @did.pop(timeout: 10)
    assert worker.close(timeout: 5)
  end

  test "reports an error, and runs again at the next push" do
    worker = background("brittle") do |inbox|
      inbox.each { |item| item ? raise(item) : @did.push(item) }
    end
    worker.push("oops")
    error, source = @reports.pop(timeout: 10)
    assert_equal ["oops", "the thread skep.brittle"], [error.message, source]
    worker.push(false)
    assert_equal false, @did.pop(timeout: 10)
  end

  test "continues with its inbox after an error" do
    worker = background("brittle") do |inbox|
      inbox.each { |item| item.is_a?(String) ? raise(item) : @did.push(item) }
    end
    [1, "a", 2, "b", 3].each { |item| worker.push(item) }
    assert_equal [1, 2, 3], take(3)
    assert worker.close(timeout: 5)
    assert_equal %w[a b], Array.new(2) { @reports.pop(timeout: 10).first.message }
  end

  test "calls the block again although it raises before it takes an item" do
    tries = 0
    worker = background("server") do |inbox|
      (tries += 1) > 3 ? inbox.each { |item| @did.push(item) } : raise("no mail server")
    end
    worker.push(1)
    assert_equal 1, @did.pop(timeout: 10)
    assert_equal 3, @reports.size
  end

  test "calls a block that raises once more at most after close" do
    worker = background("broken") { raise "no mail server" }
    worker.push(1)
    4.times { @reports.pop(timeout: 10) } # it pauses by now
    refute worker.close(timeout: 5)
    assert_operator @reports.size, :<=, 2
  end

  test "close returns at once during a pause after an error" do
    worker = background("broken") { raise "no mail server" }
    4.times { @reports.pop(timeout: 10) }
    assert worker.close
  end

  test "replaces its thread after a kill, and reports it" do
    began = Skep::Threads::Inbox.new
    worker = background("victim") do |inbox|
      began.push(Thread.current)
      inbox.each { |item| item == :wait ? began.push(:waits) && Thread.stop : @did.push(item) }
    end
    [:wait, 1, 2].each { |item| worker.push(item) }
    thread = began.pop(timeout: 10)
    began.pop(timeout: 10)
    thread.kill.join
    assert_equal [1, 2], take(2)
    error, source = @reports.pop(timeout: 10)
    assert_equal [Background::ThreadKilled, "the thread skep.victim"], [error.class, source]
  end

  test "reports an error that isn't a StandardError, too" do
    background("deep") { raise Class.new(Exception), "deep" }
    assert_equal "deep", @reports.pop(timeout: 10).first.message
  end

  test "reports on stderr by default" do
    out, err, status = run_program(<<~RUBY)
      require "skep/threads"
      Skep::Threads::Background.new("mailer") { raise "oops" }.close
    RUBY
    assert_equal "", out
    assert_match(/\Askep: pid=\d+ the thread skep.mailer raised RuntimeError: oops \(-e:2.*\)\n\z/,
                 err)
    assert_predicate status, :success?
  end

  test "exit inside the block ends the process" do
    _, err, status = run_program(<<~RUBY)
      require "skep/threads"
      Skep::Threads::Background.new("quitter") { exit 3 }
      Thread.stop
    RUBY
    assert_equal ["", 3], [err, status.exitstatus]
  end

  test "starts lazily in a forked child, with an inbox of its own" do
    worker = background("echo") { |inbox| inbox.each { |io, text| io.puts text } }
    @did.push(:parents)
    _, reader = in_child do |writer|
      writer.puts worker.alive?
      worker.push([writer, "pid #{Process.pid == Skep.pid}"])
      writer.puts worker.close(timeout: 5)
    end
    assert_equal "false\npid true\ntrue\n", wait_readable(reader).read
    assert_predicate worker, :alive?
    Process.wait
  end

  test "can be started in a forked child without a push" do
    worker = background("starter", &:pop)
    _, reader = in_child { |writer| writer.puts worker.start.alive? && worker.close(timeout: 5) }
    assert_equal "true\n", wait_readable(reader).read
    Process.wait
  end

  test "starts in a forked child although a lost thread was starting it" do
    worker = doer
    lock = worker.instance_variable_get(:@worker).instance_variable_get(:@lock)
    holder = Thread.new { lock.synchronize { @did.push(:held) && Thread.stop } }
    @did.pop(timeout: 10)
    _, reader = in_child { |writer| writer.puts worker.push(1).close(timeout: 5) }
    assert_equal "true\n", wait_readable(reader).read
    Process.wait
  ensure
    holder.kill.join
  end

  test "the guard ignores its thread" do
    doer
    assert_empty(Skep::Fork::Guard.check.select { |finding| finding.what.include?("skep.") })
  end

  test "needs a block" do
    assert_raises(ArgumentError) { Background.new("idle") }
  end

  test "needs a known restart:" do
    error = assert_raises(ArgumentError) { Background.new("odd", restart: :soon) { nil } }
    assert_equal "restart: is one of [:lazy, :eager, :never], not :soon", error.message
  end

  test "inspect fits a line" do
    worker = doer
    assert_equal "#<Skep::Threads::Background skep.doer alive, 0 in its inbox>", worker.inspect
    worker.close
    assert_match(/not running/, worker.inspect)
  end

  private

  def background(name, &block)
    reporter = ->(error, source) { @reports.push([error, source]) }
    Background.new(name, reporter:, &block).tap { |made| @backgrounds << made }
  end

  def doer = background("doer") { |inbox| inbox.each { |item| @did.push(item) } }

  def take(count) = Array.new(count) { @did.pop(timeout: 10) }
end
