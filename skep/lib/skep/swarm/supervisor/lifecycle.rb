# frozen_string_literal: true

# How far a swarm has come, and the exit code that this makes (docs/reference/exit_codes.md). The
# only owner of "are we stopping?": NodePool, MoldPool and the rollouts ask it. Pure: it acts on
# nothing.
#
#   lifecycle = Lifecycle.new
#   lifecycle.run                 # a mold can fork
#   lifecycle.state               # => :running
#   lifecycle.fail_boot("no node could boot", ExitCode::FAILED)   # there is no swarm to run, or
#                                        # the supervisor can't run it any longer
#   lifecycle.stopping?           # => true
#   lifecycle.exit_code           # => 1
module Skep
  class Swarm
    class Supervisor
      class Lifecycle
        include Runtime::StateMachine

        TRANSITIONS = {
          booting: { run: :running, quiet: :booting, resume: :booting, stop: :stopping,
                     finish: :stopped },
          running: { run: :running, quiet: :quiet, resume: :running, stop: :stopping,
                     finish: :stopped },
          quiet: { run: :quiet, quiet: :quiet, resume: :running, stop: :stopping,
                   finish: :stopped },
          stopping: { quiet: :stopping, resume: :stopping, stop: :stopping, finish: :stopped },
          stopped: { quiet: :stopped, resume: :stopped, stop: :stopped, finish: :stopped }
        }.freeze

        attr_reader :failures # why it couldn't boot
        attr_reader :outcome # how its work ended, if it was not stopped

        def initialize
          @state = :booting
          @failures = []
          @failure_codes = []
        end

        # A mold can fork, the first or another one.
        def run
          change(:run)
          change(:quiet) if @quiet
        end

        # Asked for while it boots, it takes effect when it runs.
        def quiet
          @quiet = true
          change(:quiet)
        end

        # Ends quiet. Returns false if the swarm wasn't quiet, and wasn't to be once it runs.
        def end_quiet
          was_quiet = @quiet ? true : false
          @quiet = false
          change(:resume)
          was_quiet && !stopping?
        end

        def finish = change(:finish)

        # asked: by a signal or a command, after which the next signal forces. outcome: the work has
        # ended unasked: :done, :unclean (not all of it ended well) or :gave_up (a crash loop).
        def stop(asked: false, outcome: nil)
          @asked ||= asked
          @outcome ||= outcome
          change(:stop)
        end

        # Its nodes are to be killed.
        def force
          @killed = true
          change(:stop)
        end

        # A node was killed in place of being stopped: of no matter unless the swarm is stopping.
        def node_killed
          @killed = true if stopping?
        end

        def fail_boot(sentence, exit_code)
          @failures << sentence unless @failures.include?(sentence)
          @failure_codes << exit_code
          change(:stop)
        end

        # A mold is ready, and the nodes have been requested from it.
        def request_nodes = @nodes_requested = true

        def nodes_requested? = @nodes_requested ? true : false
        def quiet? = @state == :quiet
        def asked? = @asked ? true : false
        def killed? = @killed ? true : false
        def stopped? = @state == :stopped
        def stopping? = @state == :stopping || stopped?

        def exit_code
          return ExitCode.of_boot(@failure_codes) if failures.any?
          return ExitCode::CRASH_LOOP if outcome == :gave_up
          return ExitCode::FORCED if killed?

          outcome == :unclean ? ExitCode::CRASH_LOOP : ExitCode::OK
        end
      end
    end
  end
end
