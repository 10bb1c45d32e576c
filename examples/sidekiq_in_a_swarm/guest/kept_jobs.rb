# frozen_string_literal: true

# The unfinished jobs of this process in Redis, and those of dead processes.
#
#   kept = KeptJobs.new(seat: "host/jobs/0", owner: sidekiq.identity, hands:)
#   kept.register   # before it takes a job
#   kept.inherit    # pushes back the unfinished jobs of this seat's last process
#   kept.check      # at intervals: pushes back lost jobs, and those of dead processes elsewhere
#   kept.leave
class KeptJobs
  OWNERS = "kept" # owner => seat
  CHECKS = 3 # checks without a heartbeat; at a single one Redis may have been away

  attr_reader :list, :hands

  def initialize(seat:, owner:, hands:)
    @seat, @owner, @hands = seat, owner, hands
    @list = list_of(owner)
    @strays = []
    @missing = Hash.new(0)
  end

  def register = call("HSET", OWNERS, @owner, @seat)

  def inherit
    others.each { |owner, seat| push_back_all(owner) if seat == @seat }
  end

  def check
    register # another process may have considered this one dead
    push_back_strays
    dead = others.keys.reject { |owner| call("EXISTS", owner) == 1 }
    @missing = dead.each_with_object(Hash.new(0)) { |owner, all| all[owner] = @missing[owner] + 1 }
    dead.each { |owner| push_back_all(owner) if @missing[owner] >= CHECKS }
  end

  def leave
    call("HDEL", OWNERS, @owner) if call("LLEN", @list).zero?
  rescue RedisClient::Error # Redis is away: the next process finds the rest
    nil
  end

  # Pushes back a job that isn't done, or may not be.
  def push_back(redis, job, queue = queue_of(job), list: @list)
    redis.multi do |all|
      all.call("RPUSH", queue, job)
      all.call("LREM", list, 1, job)
    end
  end

  private

  # Jobs in the list at two checks that no thread has: done or failed while Redis was away.
  def push_back_strays
    strays = call("LRANGE", @list, 0, -1) - hands.jobs
    again, @strays = strays & @strays, strays
    Sidekiq.redis { |redis| again.each { |job| push_back(redis, job) } }
  end

  def push_back_all(owner)
    list = list_of(owner)
    Sidekiq.redis do |redis|
      redis.call("LRANGE", list, 0, -1).each { |job| push_back(redis, job, list:) }
      redis.call("HDEL", OWNERS, owner)
    end
  end

  def others = call("HGETALL", OWNERS).except(@owner)
  def list_of(owner) = "kept:#{owner}"

  def queue_of(job)
    "queue:#{Sidekiq.load_json(job).fetch("queue")}"
  rescue JSON::ParserError, KeyError # Sidekiq itself handles those
    "queue:default"
  end

  def call(*command) = Sidekiq.redis { |redis| redis.call(*command) }
end
