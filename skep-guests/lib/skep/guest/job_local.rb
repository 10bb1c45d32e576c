# frozen_string_literal: true

module Skep
  class Guest
    # A value for a job, while it runs: in its thread with all of its fibers, and in threads and
    # fibers that it starts. On Ruby 3.1, which has no storage of fibers, not in those threads.
    #
    #   RUNNING = JobLocal.new(:skep_job_running)
    #   RUNNING.value = job    # nil: it is over, also for the threads that it has left behind
    #   RUNNING.value          # => job, or nil
    class JobLocal
      Held = Struct.new(:value)
      private_constant :Held

      def initialize(name) = @name = name

      def value
        Thread.current.thread_variable_get(@name)&.value || inherited&.value
      end

      def value=(value)
        Thread.current.thread_variable_get(@name)&.value = nil
        held = value.nil? ? nil : Held.new(value)
        Thread.current.thread_variable_set(@name, held)
        Fiber[@name] = held if Fiber.respond_to?(:[])
      end

      private

      def inherited = Fiber.respond_to?(:[]) ? Fiber[@name] : nil
    end
  end
end
