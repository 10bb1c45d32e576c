# frozen_string_literal: true

module Skep
  class Sidekiq < Guest
    # The unfinished jobs of this process in Redis, and those of dead processes.
    #
    #   lists = JobLists.new(slot: "host/jobs/0", owner: sidekiq.identity, watch:)
    #   lists.register   # before it takes a job
    #   lists.take(redis, queues)      # => [queue, job], of the first queue that has one; or nil
    #   lists.take_due(redis, "retry") # => a job of this sorted set that is due; or nil
    #   lists.done(redis, job)
    #   lists.push_back(redis, job)    # unless another process has done so, or it is done
    #   lists.inherit    # pushes back the unfinished jobs of this slot's last processes
    #   lists.check      # at intervals: pushes back lost jobs, and those of processes elsewhere
    #   lists.leave
    class JobLists
      OWNERS = "skep:owners" # owner => slot and process
      CHECKS = 3 # checks without a heartbeat; at a single one Redis may have been away
      FORGET = 360 # such checks, an hour: an owner that lives would have registered again
      TAKE = <<~LUA
        for i = 2, #KEYS do
          local job = redis.call("LMOVE", KEYS[i], KEYS[1], "RIGHT", "LEFT")
          if job then return { KEYS[i], job } end
        end
      LUA
      TAKE_DUE = <<~LUA
        local now = redis.call("TIME")[1]
        local due = redis.call("ZRANGE", KEYS[2], "-inf", now, "BYSCORE", "LIMIT", 0, 1)
        if due[1] then
          redis.call("ZREM", KEYS[2], due[1])
          redis.call("LPUSH", KEYS[1], due[1])
        end
        return due[1]
      LUA
      # Two processes may try it, or one while another has just done the job: only the one that
      # finds it in the list pushes it back.
      PUSH_BACK = <<~LUA
        if redis.call("LREM", KEYS[1], 1, ARGV[1]) == 1 then
          redis.call("RPUSH", KEYS[2], ARGV[1])
        end
      LUA
      private_constant :OWNERS, :CHECKS, :FORGET, :TAKE, :TAKE_DUE, :PUSH_BACK

      attr_reader :own # the key of this process' list
      attr_reader :watch

      def initialize(slot:, owner:, watch:)
        @slot, @owner, @watch = slot, owner, watch
        @own = list_of(owner)
        @strays = []
        @missing = {}
      end

      def register = call("HSET", OWNERS, @owner, "#{@slot} #{Guest::ProcessName.own}")

      # The next process of this slot may have registered already: it lives.
      def inherit
        others.each do |owner, entry|
          slot, process = entry.split
          next unless slot == @slot && Guest::ProcessName.gone?(process)

          push_back_all(owner)
          call("HDEL", OWNERS, owner)
        end
      end

      def check
        register
        inherit
        push_back_strays
        push_back_missing
      end

      def leave
        call("HDEL", OWNERS, @owner) if call("LLEN", @own).zero?
      rescue ::RedisClient::Error # Redis is away: the next process finds the rest
        nil
      end

      def take(redis, queues) = redis.call("EVAL", TAKE, queues.size + 1, @own, *queues)

      def take_due(redis, set) = redis.call("EVAL", TAKE_DUE, 2, @own, set)
      def done(redis, job) = redis.call("LREM", @own, 1, job)

      # Pushes back a job that isn't done, or may not be, if it is still in the list.
      def push_back(redis, job, queue = queue_of(job), list: @own)
        redis.call("EVAL", PUSH_BACK, 2, list, queue, job)
      end

      private

      # Jobs in the list at two checks that no thread has: done or failed while Redis was away.
      def push_back_strays
        strays = call("LRANGE", @own, 0, -1) - watch.jobs
        again, @strays = strays & @strays, strays
        ::Sidekiq.redis { |redis| again.each { |job| push_back(redis, job) } }
      end

      # Those without a heartbeat may live, and take jobs: they are forgotten much later.
      def push_back_missing
        missing = others.keys.reject { |owner| call("EXISTS", owner) == 1 }
        @missing = missing.to_h { |owner| [owner, @missing.fetch(owner, 0) + 1] }
        @missing.each do |owner, checks|
          push_back_all(owner) if checks >= CHECKS
          call("HDEL", OWNERS, owner) if checks >= FORGET
        end
      end

      def push_back_all(owner)
        list = list_of(owner)
        ::Sidekiq.redis do |redis|
          redis.call("LRANGE", list, 0, -1).each { |job| push_back(redis, job, list:) }
        end
      end

      def others = call("HGETALL", OWNERS).except(@owner)
      def list_of(owner) = "skep:jobs:#{owner}"

      def queue_of(job)
        "queue:#{::Sidekiq.load_json(job).fetch("queue")}"
      rescue JSON::ParserError, KeyError # Sidekiq itself handles those
        "queue:default"
      end

      def call(*command) = ::Sidekiq.redis { |redis| redis.call(*command) }
    end
  end
end
