# frozen_string_literal: true

module Skep
  class Sidekiq < Guest
    # The unfinished jobs of this process in Redis, and those of dead processes.
    #
    #   lists = JobLists.new(slot: "host/jobs/0", owner: sidekiq.identity, watch:)
    #   lists.register   # before it takes a job
    #   lists.inherit    # pushes back the unfinished jobs of this slot's last process
    #   lists.check      # at intervals: pushes back lost jobs, and those of processes elsewhere
    #   lists.leave
    class JobLists
      OWNERS = "skep:owners" # owner => slot
      CHECKS = 3 # checks without a heartbeat; at a single one Redis may have been away
      private_constant :OWNERS, :CHECKS

      attr_reader :own # the key of this process' list
      attr_reader :watch

      def initialize(slot:, owner:, watch:)
        @slot, @owner, @watch = slot, owner, watch
        @own = list_of(owner)
        @strays = []
        @missing = Hash.new(0)
      end

      def register = call("HSET", OWNERS, @owner, @slot)

      def inherit
        others.each { |owner, slot| push_back_all(owner) if slot == @slot }
      end

      def check
        register # another process may have considered this one dead
        push_back_strays
        dead = others.keys.reject { |owner| call("EXISTS", owner) == 1 }
        before, @missing = @missing, Hash.new(0)
        dead.each { |owner| @missing[owner] = before[owner] + 1 }
        dead.each { |owner| push_back_all(owner) if @missing[owner] >= CHECKS }
      end

      def leave
        call("HDEL", OWNERS, @owner) if call("LLEN", @own).zero?
      rescue ::RedisClient::Error # Redis is away: the next process finds the rest
        nil
      end

      # Pushes back a job that isn't done, or may not be.
      def push_back(redis, job, queue = queue_of(job), list: @own)
        redis.multi do |all|
          all.call("RPUSH", queue, job)
          all.call("LREM", list, 1, job)
        end
      end

      private

      # Jobs in the list at two checks that no thread has: done or failed while Redis was away.
      def push_back_strays
        strays = call("LRANGE", @own, 0, -1) - watch.jobs
        again, @strays = strays & @strays, strays
        ::Sidekiq.redis { |redis| again.each { |job| push_back(redis, job) } }
      end

      def push_back_all(owner)
        list = list_of(owner)
        ::Sidekiq.redis do |redis|
          redis.call("LRANGE", list, 0, -1).each { |job| push_back(redis, job, list:) }
          redis.call("HDEL", OWNERS, owner)
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
