# frozen_string_literal: true

module Skep
  module Fork
    # Runs callbacks around each fork.
    #
    #   hooks = ForkHooks.new(reporter: Reporter)
    #   registration = hooks.register(before: -> { … }, parent: -> { … }, child: -> { … })
    #   hooks.around_fork { super }        # in Process._fork, which all of Ruby's forks call
    #   hooks.notice                       # in a process that Ruby didn't fork
    #   registration.cancel
    #
    # Callbacks run in the thread that forks. If the fork fails, the parent callbacks run, so that
    # they release what a before callback took. An error is reported, and the others run; only an
    # exit, a signal and Thread#kill pass. Exceptions from other threads are deferred until all have
    # run. A fork inside a callback runs no callbacks: they would never end.
    class ForkHooks
      DOING = :skep_forking # thread variable: the pid while callbacks run, FORKING, or nil
      FORKING = :fork
      # Ruby 3.3 copies other hashes at each handle_interrupt.
      NEVER = {}.compare_by_identity.update(Object => :never).freeze
      private_constant :DOING, :FORKING, :NEVER

      # Receives `call(error, who)` for each callback that raised.
      attr_accessor :reporter

      def initialize(reporter: Reporter)
        @reporter = reporter
        @lock = Mutex.new
        @registrations = [].freeze
      end

      # Raises ArgumentError without a callback, and for objects without `call`.
      def register(before: nil, parent: nil, child: nil)
        registration = Registration.new(self, before:, parent:, child:)
        @lock.synchronize { @registrations = [*@registrations, registration].freeze }
        registration
      end

      # Calls the block, which forks and returns 0 in the child, and returns its result.
      def around_fork(&fork)
        return yield if @registrations.empty?

        calling? ? doing(FORKING, &fork) : surround(@registrations, &fork)
      end

      # Runs the child callbacks after a fork that was detected later; not during a fork that runs
      # them itself.
      def notice
        return if Thread.current.thread_variable_get(DOING) == FORKING

        run(:child, @registrations)
      end

      # Replaces the array: a fork in progress keeps the old one.
      def __cancel(registration)
        @lock.synchronize { @registrations = (@registrations - [registration]).freeze }
        nil
      end

      def __include?(registration) = @registrations.include?(registration)

      private

      def surround(registrations, &fork)
        origin = OS::Generation.pid
        alone = Thread.list.one?
        begin
          held(alone) { run(:before, registrations.reverse) }
          result = doing(FORKING, &fork)
        ensure
          if child?(result, origin) # which has no other thread
            run(:child, registrations)
          else
            held(alone) { run(:parent, registrations) }
          end
        end
      end

      # A result of nil means that something raised: before the fork, in it, or in another gem's
      # hook after it.
      def child?(result, origin) = result ? result.zero? : OS::Generation.pid != origin

      # Defers exceptions from other threads, unless there are none: a callback may use Timeout.
      def held(alone, &) = alone ? yield : Thread.handle_interrupt(NEVER, &)

      # An error is reported, and the others run; only an exit and a signal pass.
      def run(moment, registrations)
        doing(OS::Generation.pid) do
          registrations.each do |registration|
            registration.__call(moment)
          rescue SystemExit, SignalException
            raise # For the process.
          rescue Exception => error # rubocop:disable Lint/RescueException -- the fork continues
            Reporter.report(@reporter, error, registration.__name(moment))
          end
        end
      end

      # Compares the pid: a child that a callback forked isn't inside a callback itself.
      def calling? = Thread.current.thread_variable_get(DOING) == OS::Generation.pid

      def doing(what)
        thread = Thread.current
        before = thread.thread_variable_get(DOING)
        thread.thread_variable_set(DOING, what)
        yield
      ensure
        thread.thread_variable_set(DOING, before)
      end
    end
  end
end
