# frozen_string_literal: true

require "sidekiq/api"

# Each job's turn, around which the supervisor is told who has what in hand: it ends a node whose
# job is stuck, tells which job a dead node had, and counts.
#
#   chain.prepend(Turns::Middleware, Turns.new(node, threads: 5))
#
# Stuck is who takes longer than `sidekiq_options longest: SECONDS`, and than liveness_timeout.
# A job that was in hand when a process crashed works alone the next time, so that it is known who
# is to blame: CRASHES of those, and it is put to Sidekiq's dead jobs.
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
    return shared { judged(name, job, &work) } unless suspect
    return set_aside(suspect, job) if suspect.alone >= CRASHES

    alone { judged(name, job, &work) }
    @crash_suspects.clear([suspect])
  end

  private

  def judged(name, job, &work)
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
    error = RuntimeError.new("alone in hand in #{suspect.alone} crashes: #{ends}")
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
