# frozen_string_literal: true

require "sidekiq/api"

# Reports the current job of each thread to the supervisor, which ends a node with a stuck job, logs
# the jobs of a dead node, and counts jobs.
#
#   chain.prepend(Turns::Middleware, Turns.new(node, threads: 5))
#
# A job is stuck if it takes longer than `sidekiq_options longest: SECONDS`, and than
# liveness_timeout. A job that was in flight when a process crashed runs alone the next time, so
# that the cause is known. After CRASHES crashes alone it goes to Sidekiq's dead set.
class Turns
  LONGEST = 300
  CRASHES = 3

  class Middleware
    include Sidekiq::ServerMiddleware

    def initialize(turns) = @turns = turns
    def call(_, job, _, &work) = @turns.take(job, &work)
  end

  def initialize(node, threads:)
    @crash_suspects = node.crash_suspects
    @free = Thread::Queue.new
    (1..threads).each { |number| @free.push(node.thread(number)) }
    @lock, @change = Mutex.new, ConditionVariable.new
    @working = 0
  end

  def take(job, &work)
    name = "#{job["class"]} #{job["jid"]}"
    suspect = @crash_suspects.find { |one| one.in_flight == name }
    return shared { watched(name, job, &work) } unless suspect
    return set_aside(suspect, job) if suspect.alone >= CRASHES

    alone { watched(name, job, &work) }
    @crash_suspects.clear([suspect])
  end

  private

  def watched(name, job, &work)
    node = @free.pop
    node.in_flight(name)
    node.busy(for: job.fetch("longest", LONGEST), &work)
  ensure
    node.processed
    node.in_flight(nil)
    @free.push(node)
  end

  def set_aside(suspect, job)
    ends = suspect.ends.join(", ")
    error = RuntimeError.new("alone in flight in #{suspect.alone} crashes: #{ends}")
    Sidekiq::DeadSet.new.kill(Sidekiq.dump_json(job), ex: error)
    @crash_suspects.blame([suspect])
    @crash_suspects.clear([suspect])
  end

  def shared
    @lock.synchronize { await { !@alone } && @working += 1 }
    yield
  ensure
    changed { @working -= 1 }
  end

  def alone
    @lock.synchronize { await { !@alone } && (@alone = true) && await { @working.zero? } }
    yield
  ensure
    changed { @alone = false }
  end

  def await
    @change.wait(@lock) until yield
    true
  end

  def changed
    @lock.synchronize { yield.tap { @change.broadcast } }
  end
end
