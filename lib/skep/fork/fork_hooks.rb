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
      MOMENTS = %i[before parent child].freeze
      # Ruby 3.3 copies other hashes at each handle_interrupt, and each write after a fork copies a
      # page.
      NEVER = {}.compare_by_identity.update(Object => :never).freeze
      private_constant :DOING, :FORKING, :MOMENTS, :NEVER

      # Receives `call(error, who)` for each callback that raised.
      attr_accessor :reporter

      def initialize(reporter: Reporter)
        @reporter = reporter
        @lock = Mutex.new
        line_up([Registration.new(self, **MOMENTS.to_h { |moment| [moment, -> {}] })])
        rehearse
        line_up([])
      end

      # Raises ArgumentError without a callback, and for objects without `call`.
      def register(before: nil, parent: nil, child: nil)
        registration = Registration.new(self, before:, parent:, child:)
        @lock.synchronize { line_up([*@registrations, registration]) }
        registration
      end

      # Calls the block, which forks and returns 0 in the child, and returns its result.
      def around_fork(&fork)
        return yield if @registrations.empty?

        calling? ? doing(FORKING, &fork) : surround(@rounds, &fork)
      end

      # Runs the child callbacks after a fork that was detected later; not during a fork that runs
      # them itself.
      def notice
        run(@rounds[:child]) unless Thread.current.thread_variable_get(DOING) == FORKING
      end

      def __cancel(registration)
        @lock.synchronize { line_up(@registrations - [registration]) }
        nil
      end

      def __include?(registration) = @registrations.include?(registration)

      private

      # Runs both ways once, to fill Ruby's inline method caches. Else each child would fill them,
      # and copy their pages: child callbacks took 4 times as long.
      def rehearse = [1, 0].each { |result| surround(@rounds) { result } }

      # Replaces the arrays: a fork in progress keeps the old ones.
      def line_up(registrations)
        @registrations = registrations.freeze
        @rounds = MOMENTS.to_h do |moment|
          [moment, HookChain.new(moment, moment == :before ? registrations.reverse : registrations)]
        end.freeze
      end

      def surround(rounds, &fork)
        origin = OS::Generation.pid
        alone = Thread.list.one?
        begin
          call(rounds[:before], alone)
          result = doing(FORKING, &fork)
        ensure
          child?(result, origin) ? run(rounds[:child]) : call(rounds[:parent], alone)
        end
      end

      # A result of nil means that something raised: before the fork, in it, or in another gem's
      # hook after it.
      def child?(result, origin) = result ? result.zero? : OS::Generation.pid != origin

      # Defers exceptions from other threads, if there were any. That takes as long as a hundred
      # calls, because it writes to shared pages.
      def call(round, alone)
        return run(round) if alone || round.empty?

        Thread.handle_interrupt(NEVER) { run(round) }
      end

      def run(round)
        return if round.empty?

        doing(OS::Generation.pid) do
          round.call { |error, who| Reporter.report(@reporter, error, who) }
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
