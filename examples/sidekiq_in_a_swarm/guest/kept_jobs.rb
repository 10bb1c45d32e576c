# frozen_string_literal: true

# The jobs in this process' hands, as Redis knows them, and those of processes that have died.
#
#   kept = KeptJobs.new(seat: "host/jobs/0", owner: sidekiq.identity, hands:)
#   kept.sign       # before it takes any
#   kept.inherit    # what the last process in this seat had in hand goes back to its queues
#   kept.look       # now and then: what nobody has in hand, and what the dead of elsewhere had
#   kept.leave
class KeptJobs
  OWNERS = "kept" # owner => seat
  LOOKS = 3 # in so many a heartbeat was missing; once, it may be Redis that was away

  attr_reader :list, :hands

  def initialize(seat:, owner:, hands:)
    @seat, @owner, @hands = seat, owner, hands
    @list = list_of(owner)
    @strays = []
    @missing = Hash.new(0)
  end

  def sign = call("HSET", OWNERS, @owner, @seat)

  def inherit
    others.each { |owner, seat| bury(owner) if seat == @seat }
  end

  def look
    sign # somebody who thought us dead may have buried us
    push_back_strays
    gone = others.keys.reject { |owner| call("EXISTS", owner) == 1 }
    @missing = gone.each_with_object(Hash.new(0)) { |owner, all| all[owner] = @missing[owner] + 1 }
    gone.each { |owner| bury(owner) if @missing[owner] >= LOOKS }
  end

  def leave
    call("HDEL", OWNERS, @owner) if call("LLEN", @list).zero?
  rescue RedisClient::Error # away: who comes next finds what is left
    nil
  end

  # One that isn't done, or not known to be.
  def push_back(redis, job, queue = queue_of(job), list: @list)
    redis.multi do |all|
      all.call("RPUSH", queue, job)
      all.call("LREM", list, 1, job)
    end
  end

  private

  # In the list at two looks, and in nobody's hand: done or failed while Redis was away.
  def push_back_strays
    strays = call("LRANGE", @list, 0, -1) - hands.jobs
    again, @strays = strays & @strays, strays
    Sidekiq.redis { |redis| again.each { |job| push_back(redis, job) } }
  end

  def bury(owner)
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
  rescue JSON::ParserError, KeyError # Sidekiq itself sees to those
    "queue:default"
  end

  def call(*command) = Sidekiq.redis { |redis| redis.call(*command) }
end
