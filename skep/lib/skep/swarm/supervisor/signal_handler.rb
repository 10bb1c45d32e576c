# frozen_string_literal: true

# What each signal means to the supervisor (docs/reference/signals.md).
#
#   signal_handler = SignalHandler.new(supervisor)
#   signal_handler.watch               # from here on, in the supervisor's loop
#   signal_handler.handle("TERM", now) # stop; a second one kills all nodes at once
#   signal_handler.handle_all([["TERM", now - 1], ["TERM", now]])
#   signal_handler.release(program: true)   # the program has its own handlers again
#
# A repeat within 50 ms, or TERM soon after INT (as foreman sends it), is the same signal
# (SelfPipe::RepeatedStop).
module Skep
  class Swarm
    class Supervisor
      class SignalHandler
        # XFSZ asks for nothing. It is only caught, so that a file at the limit of its size
        # (ulimit -f) is an error of write(2), EFBIG, and doesn't end the supervisor. As it isn't
        # ignored, molds and nodes have the default.
        SIGNALS = %w[TERM INT QUIT TSTP TTIN USR1 USR2 HUP CHLD XFSZ].freeze
        STOPS = %w[TERM INT].freeze
        private_constant :STOPS

        def initialize(supervisor)
          @supervisor = supervisor
          @repeated_stop = Runtime::SelfPipe::RepeatedStop.new
        end

        def watch
          @signals = Runtime::SelfPipe.new(SIGNALS)
          @supervisor.loop.watch(@signals.to_io) { handle_all(@signals.take_with_times) }
        end

        # A process that was only a supervisor ignores what comes now.
        def release(program:)
          program ? @signals&.release : @signals&.ignore
        end

        def close_in_child = @signals.release

        # Handles the signals that have come since the last turn of the loop, each with the time at
        # which it came. Several of one kind are one, but requests to stop: a busy supervisor reads
        # the first and the second at once.
        def handle_all(signals)
          signals.uniq { |name, at| STOPS.include?(name) ? [name, at] : name }.each do |name, at|
            @supervisor.events.guard("signal #{name}") { handle(name, at) }
          end
        end

        # at: when it came.
        def handle(name, at = OS.now)
          case name
          when *STOPS then stop(name, at)
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

        def stop(name, at)
          repeated_stop = @repeated_stop.of(name, at)
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
