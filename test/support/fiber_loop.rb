# frozen_string_literal: true

# A Fiber scheduler that works, in as few lines as that takes: fibers of one thread wait for IO, for
# locks and for time side by side. Source: Fiber::Scheduler in Ruby's documentation.
#
#   FiberLoop.run(-> { inbox.pop }, -> { inbox.push(1) })    # => [1, inbox]
class FiberLoop
  # What each work returned, once all have; in a thread of its own.
  def self.run(*works, timeout: 20)
    results = Array.new(works.size, :unfinished)
    thread = Thread.new do
      Fiber.set_scheduler(new)
      works.each_with_index { |work, index| Fiber.schedule { results[index] = work.call } }
    end
    thread.join(timeout) ? results : thread.kill && raise("the fibers hang: #{results}")
  end

  def initialize
    @waiting = {} # fiber => [io, events, deadline]
    @ready = Thread::Queue.new # of fibers, by any thread
    @woken, @waker = IO.pipe
  end

  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

  def io_wait(io, events, timeout = nil) = rest(io, events, timeout)

  def block(_blocker, timeout = nil) = rest(nil, 0, timeout)

  def kernel_sleep(seconds = nil) = rest(nil, 0, seconds)

  def unblock(_blocker, fiber)
    @ready << fiber
    @waker.write_nonblock(".", exception: false)
  end

  # Of a killed thread, too, whose fibers wait for ever.
  def close
    turn until @waiting.empty?
  ensure
    [@woken, @waker].each(&:close)
  end

  # What fibers wait for: the IOs that those of a killed thread leave open until Ruby collects them.
  def ios = @waiting.values.filter_map(&:first).uniq

  private

  def rest(io, events, timeout)
    @waiting[Fiber.current] = [io, events, timeout && (now + timeout)]
    Fiber.yield
  end

  def turn
    waits = @waiting.values
    readable, writable = select(waits, patience(waits))
    @woken.read_nonblock(512, exception: false)
    go_on(Array.new(@ready.size) { @ready.pop }) { true }
    ready = [*readable, *writable]
    go_on(fibers { |io, _, _| ready.include?(io) }) { |_, events, _| events }
    go_on(fibers { |_, _, deadline| deadline && deadline <= now }) { false }
  end

  def select(waits, seconds)
    reads, writes = [IO::READABLE, IO::WRITABLE].map do |event|
      waits.filter_map { |io, events, _| io if io && events.anybits?(event) }
    end
    IO.select([@woken, *reads], writes, nil, seconds)
  end

  def fibers = @waiting.select { |_, wait| yield(*wait) }.keys

  # Those that others haven't woken meanwhile.
  def go_on(fibers)
    fibers.each { |fiber| (wait = @waiting.delete(fiber)) && fiber.resume(yield(*wait)) }
  end

  def patience(waits)
    first = waits.filter_map(&:last).min
    first && [first - now, 0].max
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
