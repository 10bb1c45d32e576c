# frozen_string_literal: true

# A small Fiber scheduler: the fibers of one thread wait for IO, locks and deadlines at the same
# time. Source: Fiber::Scheduler in Ruby's documentation.
#
#   FiberLoop.run(-> { inbox.pop }, -> { inbox.push(1) })    # => [1, inbox]
class FiberLoop
  # Runs the blocks in a thread of its own, and returns their results once all have ended.
  def self.run(*blocks, timeout: 20)
    results = Array.new(blocks.size, :unfinished)
    thread = Thread.new do
      Fiber.set_scheduler(new)
      blocks.each_with_index { |block, index| Fiber.schedule { results[index] = block.call } }
    end
    thread.join(timeout) ? results : thread.kill && raise("the fibers hang: #{results}")
  end

  def initialize
    @waiting = {} # fiber => [io, events, deadline]
    @ready = Thread::Queue.new # fibers, added by any thread
    @woken, @waker = IO.pipe
  end

  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

  def io_wait(io, events, timeout = nil) = suspend(io, events, timeout)

  def block(_blocker, timeout = nil) = suspend(nil, 0, timeout)

  def kernel_sleep(seconds = nil) = suspend(nil, 0, seconds)

  def unblock(_blocker, fiber)
    @ready << fiber
    @waker.write_nonblock(".", exception: false)
  end

  # Also runs in a killed thread, whose fibers wait for ever.
  def close
    turn until @waiting.empty?
  ensure
    [@woken, @waker].each(&:close)
  end

  # Returns the IOs that fibers wait for. Those of a killed thread stay open until the next GC.
  def ios = @waiting.values.filter_map(&:first).uniq

  private

  def suspend(io, events, timeout)
    @waiting[Fiber.current] = [io, events, timeout && (now + timeout)]
    Fiber.yield
  end

  def turn
    waits = @waiting.values
    readable, writable = select(waits, seconds_left(waits))
    @woken.read_nonblock(512, exception: false)
    resume_all(Array.new(@ready.size) { @ready.pop }) { true }
    ready = [*readable, *writable]
    resume_all(fibers { |io, _, _| ready.include?(io) }) { |_, events, _| events }
    resume_all(fibers { |_, _, deadline| deadline && deadline <= now }) { false }
  end

  def select(waits, seconds)
    reads, writes = [IO::READABLE, IO::WRITABLE].map do |event|
      waits.filter_map { |io, events, _| io if io && events.anybits?(event) }
    end
    IO.select([@woken, *reads], writes, nil, seconds)
  end

  def fibers = @waiting.select { |_, wait| yield(*wait) }.keys

  # Resumes those fibers that weren't resumed meanwhile.
  def resume_all(fibers)
    fibers.each { |fiber| (wait = @waiting.delete(fiber)) && fiber.resume(yield(*wait)) }
  end

  def seconds_left(waits)
    first = waits.filter_map(&:last).min
    first && [first - now, 0].max
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
