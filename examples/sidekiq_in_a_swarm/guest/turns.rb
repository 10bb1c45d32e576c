# frozen_string_literal: true

require "sidekiq/api"

# Each job's turn, around which the supervisor is told who has what in hand: it ends a node whose
# job is stuck, tells which job a dead node had, and counts.
#
#   chain.prepend(Turns::Middleware, Turns.new(child, threads: 5))
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

  def initialize(child, threads:)
    @caution = child.caution
    @lanes = Thread::Queue.new
    (1..threads).each { |number| @lanes.push(child.lane(number)) }
    @lock, @change = Mutex.new, ConditionVariable.new
    @working = 0
  end

  def take(job, &work)
    name = "#{job["class"]} #{job["jid"]}"
    suspect = @caution.suspects.find { |one| one.in_hand == name }
    return shared { judged(name, job, &work) } unless suspect
    return set_aside(suspect, job) if suspect.alone >= CRASHES

    alone { judged(name, job, &work) }
    @caution.acquit([suspect])
  end

  private

  def judged(name, job, &work)
    lane = @lanes.pop
    lane.in_hand(name)
    lane.busy(for: job.fetch("longest", LONGEST), &work)
  ensure
    lane.count
    lane.in_hand(nil)
    @lanes.push(lane)
  end

  def set_aside(suspect, job)
    ends = suspect.ends.join(", ")
    error = RuntimeError.new("alone in hand in #{suspect.alone} crashes: #{ends}")
    Sidekiq::DeadSet.new.kill(Sidekiq.dump_json(job), ex: error)
    @caution.convict([suspect])
    @caution.acquit([suspect])
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
