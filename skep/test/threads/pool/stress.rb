# frozen_string_literal: true

# Runs batches under all faults at once: jobs that raise, run batches or kill their thread, threads
# killed at any moment, timeouts, forks in between, several callers. Prints how many batches had
# which outcome, and each wrong one.
#
#   ruby -r./load_path skep/test/threads/pool/stress.rb SEED BATCHES

require "skep/threads"
require "timeout"

class Stress
  CALLERS = 4
  Pool = Skep::Threads::Pool
  private_constant :CALLERS, :Pool

  def initialize(seed, batches)
    @seed, @batches = seed, batches
    @pool = Pool.new(4)
    @over = Skep::Threads::Inbox.new
    @outcomes = Thread::Queue.new
  end

  def run
    killer = Thread.new { kill(Random.new(@seed)) }
    Array.new(CALLERS) { |number| Thread.new { call(Random.new(@seed + number)) } }.each(&:join)
    @over.close
    killer.join
    @outcomes << (@pool.close(timeout: 10) ? "closed" : "didn't close")
    outcomes = Array.new(@outcomes.size) { @outcomes.pop }
    outcomes.tally.sort.each { |what, count| puts "#{what}: #{count}" }
  end

  private

  def kill(random)
    until @over.closed?
      @over.pop(timeout: random.rand * 0.004)
      Thread.list.select { |thread| thread.name.to_s.start_with?("skep.pool") }
            .sample(random:)&.kill
    end
  end

  def call(random)
    (@batches / CALLERS).times do
      way = %i[plain plain plain timeout fork].sample(random:)
      @outcomes << "#{way} #{send(way, random)}"
    end
  end

  def plain(random)
    items = Array.new(random.rand(12)) { job(random) }
    run_and_check(items, help: random.rand < 0.7)
  end

  def timeout(random)
    items = Array.new(random.rand(40)) { [:wait, random.rand * 0.002] }
    Timeout.timeout(random.rand * 0.01) { run_and_check(items, help: random.rand < 0.5) }
  rescue Timeout::Error
    "late"
  end

  # The child reports its outcome by its exit status.
  def fork(random)
    pid = Process.fork do
      outcome = run_and_check(Array.new(5) { |n| [:plain, n] }, help: random.rand < 0.5)
      exit!(outcome == "right" && @pool.close(timeout: 10))
    end
    Process.wait2(pid).last.success? ? "right" : "WRONG"
  end

  def job(random)
    kind = %i[plain plain raise wait nested kill].sample(random:)
    [kind, { wait: random.rand * 0.002 }.fetch(kind) { random.rand(1000) }]
  end

  def run_and_check(items, help:)
    results = @pool.run(items, help:) { |kind, value| work(kind, value) }
    results == items.map(&:last) && items.none? { |kind, _| kind == :raise } ? "right" : "WRONG"
  rescue Pool::JobsFailed => error
    failures = error.failures
    fine = failures.all? { |each| items[each.index].equal?(each.item) && expected?(each) }
    raising = items.each_index.select { |index| items[index].first == :raise }
    fine && (raising - failures.map(&:index)).empty? ? "right" : "WRONG: #{error.message}"
  end

  def work(kind, value)
    case kind
    when :raise then raise(IOError, value.to_s)
    when :wait then Skep::Threads::Inbox.new.pop(timeout: value)
    when :nested then run_nested(value)
    when :kill then Thread.current.kill if Thread.current.name.to_s.start_with?("skep.pool")
    end
    value
  end

  def run_nested(value)
    results = @pool.run([1, 2, 3]) { |n| n * value }
    raise "nested: #{results}" unless results == [value, 2 * value, 3 * value]
  end

  # Any thread may be killed in any job.
  def expected?(failure)
    case failure.error
    when Pool::ThreadKilled then true
    when IOError then failure.item == [:raise, failure.error.message.to_i]
    when Pool::JobsFailed then failure.item.first == :nested && killed?(failure.error)
    end
  end

  def killed?(error) = error.failures.all? { |failure| failure.error.is_a?(Pool::ThreadKilled) }
end

Stress.new(*ARGV.map(&:to_i)).run
