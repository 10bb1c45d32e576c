# frozen_string_literal: true

# How far a swarm has come, and the exit code that it makes in the end (docs/cli.md). Pure.
#
#   lifecycle = Lifecycle.new
#   lifecycle.running                      # a mold can fork
#   lifecycle.state                        # => :running; before that :booting, later quiet, …
#   lifecycle.failed("no node could boot", ExitCode::FAILED) # it is stopping: there was none to run
#   lifecycle.stopped
#   lifecycle.code(nil, killed: false)     # => 1
module Skep
  class Swarm
    class Supervisor
      class Lifecycle
        attr_reader :state #: Symbol, one of booting running quiet stopping stopped
        attr_reader :failures #: Array[String], why it couldn't boot

        def initialize #: () -> void
          @state = :booting
          @failures = []
          @failure_codes = []
        end

        # A quiet one stays so, whichever mold it gets.
        def running #: () -> void
          @state = :running unless @state == :quiet
        end

        def stopping #: () -> void
          @state = :stopping unless stopped?
        end

        def stopped = @state = :stopped #: () -> void

        # Only a swarm that runs can be quiet.
        def quiet #: () -> void
          @state = :quiet if @state == :running
        end

        def forced #: () -> void
          @forced = true
          stopping
        end

        def failed(sentence, exit_code) #: (String, Integer) -> void
          @failures << sentence unless @failures.include?(sentence)
          @failure_codes << exit_code
          stopping
        end

        # Somebody has asked it to stop, by a signal or a command: the next signal forces.
        def asked = @asked = true #: () -> void
        def asked? = @asked ? true : false #: () -> bool

        # Its nodes have been asked for.
        def booted = @booted = true #: () -> void

        # Goes on where the program before this one was.
        def restore(state) #: (String) -> void
          @state = state.to_sym
          booted
        end

        def booted? = @booted ? true : false #: () -> bool
        def stopped? = @state == :stopped #: () -> bool
        def stopping? = @state == :stopping || stopped? #: () -> bool

        # outcome: the Nodes::NodePool's, where it ended by itself; killed: had nodes to be?
        def code(outcome, killed:) #: (Symbol?, killed: bool) -> Integer
          return ExitCode.of_boot(@failure_codes) if failures.any?
          return ExitCode::CRASH_LOOP if outcome == :gave_up
          return ExitCode::FORCED if @forced || killed

          outcome == :unclean ? ExitCode::CRASH_LOOP : ExitCode::OK
        end
      end
    end
  end
end
