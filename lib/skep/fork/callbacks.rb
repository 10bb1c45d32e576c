# frozen_string_literal: true

module Skep
  module Fork
    # What is to run around each fork.
    #
    #   callbacks = Callbacks.new(reporter: Reporter)
    #   registration = callbacks.register(before: -> { … }, parent: -> { … }, child: -> { … })
    #   callbacks.around_fork { super }        # in Process._fork, by which all of Ruby's forks go
    #   registration.cancel
    #
    # They run in the thread that forks. A fork that fails runs the parents' callbacks, so that what
    # a before took is given back. One that raises is reported and the rest run; only what is meant
    # to end the process or the thread (exit, a signal, Thread#kill) gets through. Thread#raise and
    # Timeout wait until all have run. A callback that forks does so bare: no callbacks run for that
    # fork, or they would never end.
    class Callbacks
      FORKING = :skep_forking
      private_constant :FORKING

      # Gets `call(error, who)` for each callback that raised.
      attr_accessor :reporter #: Reporter

      #: (?reporter: untyped) -> void
      def initialize(reporter: Reporter)
        @reporter = reporter
        @registrations = [].freeze # Replaced, not changed: a fork under way keeps its own.
        @lock = Mutex.new
      end

      # Raises ArgumentError for what can't be called, and for nothing at all.
      #
      #: (?before: untyped, ?parent: untyped, ?child: untyped) -> Registration
      def register(before: nil, parent: nil, child: nil)
        registration = Registration.new(self, before:, parent:, child:)
        @lock.synchronize { @registrations = [*@registrations, registration].freeze }
        registration
      end

      # Forks by the block, which returns 0 in the child, and returns what it returned.
      #
      #: () { () -> Integer } -> Integer
      def around_fork
        return yield if forking?

        registrations = @registrations
        origin = Process.pid
        begin
          run(:before, registrations.reverse)
          result = yield
        ensure
          run(child?(result, origin) ? :child : :parent, registrations)
        end
      end

      #: (Registration) -> void
      def __cancel(registration)
        @lock.synchronize { @registrations = (@registrations - [registration]).freeze }
        nil
      end

      #: (Registration) -> bool
      def __include?(registration) = @registrations.include?(registration)

      private

      # A result of nil means that something raised: on our way to the fork, at it, or after it in
      # another gem's hook.
      #
      #: (Integer?, Integer origin) -> bool
      def child?(result, origin) = result ? result.zero? : Process.pid != origin

      #: (Symbol moment, Array[Registration]) -> void
      def run(moment, registrations)
        return if registrations.empty?

        Thread.handle_interrupt(Object => :never) do
          as_forking { registrations.each { |registration| call(registration, moment) } }
        end
      end

      #: (Registration, Symbol moment) -> void
      def call(registration, moment)
        registration.__call(moment)
      rescue SystemExit, SignalException
        raise # Meant for the process.
      rescue Exception => error # rubocop:disable Lint/RescueException -- the fork goes on
        Reporter.tell(@reporter, error, registration.__name(moment))
      end

      # Holds the process' number, not true: a child forked by a callback isn't in one itself.
      #
      #: () -> bool
      def forking? = Thread.current.thread_variable_get(FORKING) == Process.pid

      #: () { () -> void } -> void
      def as_forking
        Thread.current.thread_variable_set(FORKING, Process.pid)
        yield
      ensure
        Thread.current.thread_variable_set(FORKING, nil)
      end
    end
  end
end
