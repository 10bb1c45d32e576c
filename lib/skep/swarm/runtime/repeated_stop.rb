# frozen_string_literal: true

# Tells who asks a second time to stop from who asks twice in one breath. Pure.
#
#   repeated_stop = RepeatedStop.new
#   repeated_stop.of("INT", now)     # => :first; later :again, or :same
#
# timeout(1) and shells send a signal both to the process and to its group. Ctrl-C under
# foreman reaches the whole group as INT, and foreman then sends TERM to it.
module Skep
  class Swarm
    module Runtime
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
