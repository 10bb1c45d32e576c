# frozen_string_literal: true

# Forks a second, if all workers crash at their first line, after a good start.
#
#   CrashLoop.new(run, seconds: 5).rate
module Skep
  module Benchmarks
    class Supervise
      class CrashLoop
        def initialize(run, seconds:)
          @run = run
          @seconds = seconds
        end

        def rate
          workers = @run.await(@run.wishes[:workers])
          @run.rest
          File.write("#{@run.folder}/crash", "")
          workers.each { |worker| @run.signal(worker.pid, :KILL) }
          @run.settle(@seconds).size.fdiv(@seconds)
        end
      end
    end
  end
end
