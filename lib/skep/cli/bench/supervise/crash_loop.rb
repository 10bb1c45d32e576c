# frozen_string_literal: true

# Forks a second, of workers all of which die at their first line, after a good start.
#
#   CrashLoop.new(kept, seconds: 5).rate
module Skep
  module CLI
    class Bench
      class Supervise
        class CrashLoop
          def initialize(kept, seconds:) #: (Keeping, seconds: Numeric) -> void
            @kept = kept
            @seconds = seconds
          end

          def rate #: () -> Float
            workers = @kept.await(@kept.wishes[:workers])
            @kept.rest
            File.write("#{@kept.folder}/crash", "")
            workers.each { |worker| @kept.signal(worker.pid, :KILL) }
            @kept.settle(@seconds).size.fdiv(@seconds)
          end
        end
      end
    end
  end
end
