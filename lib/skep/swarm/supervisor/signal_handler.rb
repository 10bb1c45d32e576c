# frozen_string_literal: true

# What each signal means to the supervisor (docs/signals.md).
#
#   signal_handler = SignalHandler.new(supervisor)
#   signal_handler.obey("TERM")   # stop; a second one kills all nodes at once (Supervisor#force)
#
# A repeat within 50 ms, or TERM soon after INT (as foreman sends it), is the same signal
# (SelfPipe::RepeatedStop).
module Skep
  class Swarm
    class Supervisor
      class SignalHandler
        # CHLD isn't kept over an upgrade: it does no harm, Ruby may need it, and the new program
        # looks for itself. Nor is XFSZ, which is no order: it is only caught, so that a file at the
        # limit of its size (ulimit -f) is an error of write(2), EFBIG, and doesn't end the
        # supervisor. As it isn't ignored, molds and nodes have the default.
        SIGNALS = [*Rollout::Upgrade::StateFile::SIGNALS, "CHLD", "XFSZ"].freeze

        def initialize(supervisor) #: (Supervisor) -> void
          @supervisor = supervisor
          @repeated_stop = Runtime::SelfPipe::RepeatedStop.new
        end

        def obey(name) #: (String) -> void
          case name
          when "TERM", "INT" then stop(name)
          when "QUIT" then @supervisor.force(name)
          when "TSTP" then @supervisor.quiet
          when "TTIN" then @supervisor.backtraces
          when "USR1" then @supervisor.reopen
          when "USR2" then @supervisor.changes.restart
          when "HUP" then @supervisor.changes.reload
          when "CHLD" then @supervisor.reap
          end
        end

        private

        def stop(name)
          repeated_stop = @repeated_stop.of(name, OS.now)
          return if repeated_stop == :same

          # A stop that was asked for in another way (`skep stop`) counts as the first request. One
          # that the swarm began itself (all work done, a crash loop) doesn't.
          again = repeated_stop == :again || @supervisor.asked_to_stop?
          again ? @supervisor.force(name) : @supervisor.stop(name)
        end
      end
    end
  end
end
