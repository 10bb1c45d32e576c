# frozen_string_literal: true

# What each signal means to the supervisor (docs/signals.md).
#
#   orders = SignalHandler.new(supervisor)
#   orders.obey("TERM")     # stop; a second one forces
module Skep
  class Swarm
    class Supervisor
      class SignalHandler
        SIGNALS = %w[TERM INT QUIT TSTP TTIN USR1 USR2 HUP CHLD XFSZ].freeze

        # Those that are kept while one program of the supervisor follows another. CHLD isn't: it
        # does no harm, Ruby may need it, and the new program looks for itself. Nor is XFSZ, which
        # is no order: it is only caught, so that a file at the limit of its size (ulimit -f) is an
        # error of write(2), EFBIG, and doesn't end the supervisor. As it isn't ignored, molds and
        # nodes have the default.
        HELD = (SIGNALS - %w[CHLD XFSZ]).freeze

        def initialize(supervisor) #: (Supervisor) -> void
          @supervisor = supervisor
          @repeated_stop = RepeatedStop.new
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

          # A swarm that stops on its own does so in peace until somebody insists.
          again = repeated_stop == :again || @supervisor.asked_to_stop?
          again ? @supervisor.force(name) : @supervisor.stop(name)
        end
      end

      # Tells who asks a second time to stop from who asks twice in one breath. Pure.
      #
      #   repeated_stop = RepeatedStop.new
      #   repeated_stop.of("INT", now)     # => :first; later :again, or :same
      #
      # timeout(1) and shells send a signal both to the process and to its group. Ctrl-C under
      # foreman reaches the whole group as INT, and foreman then sends TERM to it.
      class RepeatedStop
        SAME_SECONDS = 0.05
        FOREMAN_SECONDS = 1.0
        private_constant :SAME_SECONDS, :FOREMAN_SECONDS

        #: (String name, Float now) -> (:first | :same | :again)
        def of(name, now)
          if @first.nil?
            @first, @last_at = name, now
            return :first
          end

          foreman = @first == "INT" && name == "TERM"
          same = now - @last_at < (foreman ? FOREMAN_SECONDS : SAME_SECONDS)
          @last_at = now unless same
          same ? :same : :again
        end
      end
    end
  end
end
