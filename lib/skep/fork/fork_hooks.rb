# frozen_string_literal: true

module Skep
  module Fork
    # What is to run around each fork.
    #
    #   hooks = ForkHooks.new(reporter: Reporter)
    #   registration = hooks.register(before: -> { … }, parent: -> { … }, child: -> { … })
    #   hooks.around_fork { super }        # in Process._fork, by which all of Ruby's forks go
    #   hooks.notice                       # in a process forked by a road that Ruby can't see
    #   registration.cancel
    #
    # They run in the thread that forks. A fork that fails runs the parents' callbacks, so that what
    # a before took is given back. One that raises is reported and the rest run; only what is meant
    # to end the process or the thread (exit, a signal, Thread#kill) gets through. What a thread
    # that was there before the fork raises in this one waits until all have run. A callback that
    # forks does so bare: no callbacks run for that fork, or they would never end.
    class ForkHooks
      DOING = :skep_forking # the thread's: CALLING's number, FORKING, or nil
      FORKING = :fork
      MOMENTS = %i[before parent child].freeze
      # By identity, as Ruby 3.3 then copies it not: what is written after a fork is a page copied.
      NEVER = {}.compare_by_identity.update(Object => :never).freeze
      private_constant :DOING, :FORKING, :MOMENTS, :NEVER

      # Gets `call(error, who)` for each callback that raised.
      attr_accessor :reporter #: Reporter

      #: (?reporter: untyped) -> void
      def initialize(reporter: Reporter)
        @reporter = reporter
        @lock = Mutex.new
        line_up([Registration.new(self, **MOMENTS.to_h { |moment| [moment, -> {}] })])
        rehearse
        line_up([])
      end

      # Raises ArgumentError for what can't be called, and for nothing at all.
      #
      #: (?before: untyped, ?parent: untyped, ?child: untyped) -> Registration
      def register(before: nil, parent: nil, child: nil)
        registration = Registration.new(self, before:, parent:, child:)
        @lock.synchronize { line_up([*@registrations, registration]) }
        registration
      end

      # Forks by the block, which returns 0 in the child, and returns what it returned.
      #
      #: () { () -> Integer } -> Integer
      def around_fork(&fork)
        return yield if @registrations.empty?

        calling? ? doing(FORKING, &fork) : surround(@rounds, &fork)
      end

      # Runs the children's callbacks where a fork was found out after it; nothing in the midst of
      # one that runs them itself.
      #
      #: () -> void
      def notice
        run(@rounds[:child]) unless Thread.current.thread_variable_get(DOING) == FORKING
      end

      #: (Registration) -> void
      def __cancel(registration)
        @lock.synchronize { line_up(@registrations - [registration]) }
        nil
      end

      #: (Registration) -> bool
      def __include?(registration) = @registrations.include?(registration)

      private

      # A parent and a child, once each: Ruby notes at its first call of a method where that is, and
      # each child would do so anew, on pages of its own. It made children's callbacks 4 times as
      # long.
      #
      #: () -> void
      def rehearse = [1, 0].each { |result| surround(@rounds) { result } }

      # Replaced, not changed: a fork under way keeps its own.
      #
      #: (Array[Registration]) -> void
      def line_up(registrations)
        @registrations = registrations.freeze
        @rounds = MOMENTS.to_h do |moment|
          [moment, HookChain.new(moment, moment == :before ? registrations.reverse : registrations)]
        end.freeze
      end

      #: (Hash[Symbol, HookChain]) { () -> Integer } -> Integer
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

      # A result of nil means that something raised: on our way to the fork, at it, or after it in
      # another gem's hook.
      #
      #: (Integer?, Integer origin) -> bool
      def child?(result, origin) = result ? result.zero? : OS::Generation.pid != origin

      # A thread that was alone needs no guard from others, nor does a child. The guard takes as
      # long as a hundred calls: it writes to pages that a fork made shared.
      #
      #: (HookChain, bool alone) -> void
      def call(round, alone)
        return run(round) if alone || round.empty?

        Thread.handle_interrupt(NEVER) { run(round) }
      end

      #: (HookChain) -> void
      def run(round)
        return if round.empty?

        doing(OS::Generation.pid) do
          round.call { |error, who| Reporter.tell(@reporter, error, who) }
        end
      end

      # Holds the process' number, not true: a child forked by a callback isn't in one itself.
      #
      #: () -> bool
      def calling? = Thread.current.thread_variable_get(DOING) == OS::Generation.pid

      #: (Integer | Symbol) { () -> untyped } -> untyped
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
