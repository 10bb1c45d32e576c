# frozen_string_literal: true

require "test_helper"
require "support/fiber_loop"
require "skep/swarm"

# The waits of a node's threads, and their wake-ups.
class InterruptibleWaitTest < Skep::TestCase
  Heartbeat = Struct.new(:ticks, :ticked) do
    def tick
      self.ticks += 1
      ticked << true # a wait that has ticked misses no notification from then on
    end
  end
  private_constant :Heartbeat

  def setup
    super
    @over = false
    @waiter = Skep::Swarm::Processes::InterruptibleWait.new(every: 10.0) { @over }
    @heartbeat = Heartbeat.new(0, Queue.new)
  end

  def teardown
    @waiter.close
    super
  end

  test "notify ends the wait_for of each thread once" do
    reader, writer = IO.pipe
    writer.write("x")
    threads = waiting(3) { [wait, @waiter.wait_for([reader], 30, @heartbeat)] }
    @waiter.notify
    assert_equal [[[], [reader]]] * 3, ended(threads)
  ensure
    [reader, writer].each(&:close)
  end

  test "notify ends the next wait_for of a thread that isn't waiting, once" do
    @waiter.notify
    assert_equal [], wait
    assert_equal [[]], ended([Thread.new { wait }])
    reader, writer = IO.pipe
    writer.write("x")
    assert_equal [reader], @waiter.wait_for([reader], 10, @heartbeat)
  ensure
    [reader, writer].each(&:close)
  end

  test "the end of waiting ends the wait of each thread, and later waits at once" do
    threads = waiting(3) { wait }
    @over = true
    @waiter.wake
    assert_equal [[]] * 3, ended(threads)
    assert_equal [], wait
  end

  test "an IO that is ready ends the wait of its own thread alone" do
    pipes = Array.new(2) { IO.pipe }
    threads = pipes.map { |pipe| waiting(1) { @waiter.wait_for([pipe[0]], 30, @heartbeat) }.first }
    pipes[1][1].write("x")
    assert_equal [[pipes[1][0]]], ended([threads[1]])
    assert_predicate threads[0], :alive?
    pipes[0][1].write("x")
    assert_equal [[pipes[0][0]]], ended([threads[0]])
  ensure
    pipes.flatten.each(&:close)
  end

  test "wake lets each `until` call its block again" do
    conditions = [false, false]
    threads = Array.new(2) do |index|
      waiting(1) { @waiter.until(@heartbeat) { conditions[index] } }.first
    end
    conditions[1] = true
    @waiter.wake
    ended([threads[1]])
    assert_predicate threads[0], :alive?
    conditions[0] = true
    @waiter.wake
    ended([threads[0]])
  end

  test "until ends at its deadline, too" do
    @waiter.until(@heartbeat, 0.01) { false }
    assert_operator @heartbeat.ticks, :>, 0
  end

  test "wake doesn't end a wait for IOs or a time" do
    reader, writer = IO.pipe
    thread = waiting(1) { @waiter.wait_for([reader], 30, @heartbeat) }.first
    @waiter.wake
    @heartbeat.ticked.pop
    writer.write("x")
    assert_equal [[reader]], ended([thread])
  ensure
    [reader, writer].each(&:close)
  end

  test "notify ends the wait_for of each fiber" do
    returned = []
    FiberLoop.run(-> { returned << wait }, -> { returned << wait }, -> { @waiter.notify })
    assert_equal [[], []], returned
  end

  test "a thread that is killed while it waits keeps no other thread awake" do
    thread = waiting(1) { wait }.first
    thread.kill.join
    @waiter.notify
    assert_equal [], wait
    before = @heartbeat.ticks
    wait(0.01)
    assert_operator @heartbeat.ticks - before, :<=, 3
  end

  test "a fiber that is never resumed while it waits keeps no thread awake" do
    fibers = FiberLoop.new
    thread = waiting(1) do
      Fiber.set_scheduler(fibers)
      2.times { Fiber.schedule { wait } }
    end.first
    @heartbeat.ticked.pop
    thread.kill.join
    @waiter.notify
    assert_equal [], wait
    before = @heartbeat.ticks
    wait(0.01)
    assert_operator @heartbeat.ticks - before, :<=, 3
  ensure
    fibers.ios.each(&:close)
  end

  test "notify reaches each thread's wait even without a free descriptor, then and later" do
    threads = waiting(2) { wait }
    without_descriptors { @waiter.notify }
    assert_equal [[]] * 2, ended(threads)
    thread = waiting(1) { wait(30) }.first
    assert_equal [], wait(0.01)
    @waiter.notify
    assert_equal [[]], ended([thread])
  end

  test "a wait without a free descriptor looks now and then, and ends in time" do
    looks = 0
    began = Skep::OS.now
    without_descriptors do
      @waiter.wake # its pipe stays closed
      @waiter.until(@heartbeat, 240) { (looks += 1) == 11 }
      assert_operator Skep::OS.now - began, :>=, 0.1
      assert_equal [], @waiter.until(@heartbeat, 0.05) { false }
    end
  end

  test "a quiet node ends the wait of each of its threads" do
    100.times do # to give one thread the chance to consume the other threads' wake-ups
      node = node_of(page = Skep::OS::SharedPage.create(layout.total))
      heartbeat = @heartbeat
      node.define_singleton_method(:stopping?) { heartbeat.tick && super() }
      threads = waiting(4) { node.wait(30) }
      node.__quiet
      assert_equal [true] * 4, ended(threads)
    ensure
      node.leave
      page.close
    end
  end

  private

  def layout = @layout ||= Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 1, threads: 0)

  def node_of(page)
    Skep::Swarm::Node.new(id: 0, swarm: "threads", mold: 0, page:, layout:,
                           report: ->(*) {}, beat_every: 10.0)
  end

  def wait(seconds = 30) = @waiter.wait_for([], seconds, @heartbeat)

  def without_descriptors
    most = Process.getrlimit(:NOFILE)
    Process.setrlimit(:NOFILE, 3, most.last)
    yield
  ensure
    Process.setrlimit(:NOFILE, *most)
  end

  # Returns threads that wait in the block.
  def waiting(count, &block)
    @heartbeat.ticked.clear
    threads = Array.new(count) { Thread.new(&block) }
    count.times { @heartbeat.ticked.pop }
    threads
  end

  def ended(threads) = threads.map { |thread| (thread.join(10) or flunk("it still waits")).value }
end
