# frozen_string_literal: true

# Wake-ups a second of an idle server's processes: the supervisor, a worker, and the sum of all
# others (a mold, a monitor).
#
#   Idle.new(run, seconds: 10).figures
#   # => {"supervisor" => 0.1, "worker" => 0.1, "others" => 0.0}
module Skep
  module Benchmarks
    class Supervise
      class Idle
        def initialize(run, seconds:)
          @run = run
          @seconds = seconds
        end

        def figures
          @run.await(@run.wishes[:workers])
          3.times { @run.rest }
          before = wakes
          @run.settle(@seconds)
          before.merge(wakes) { |_, earlier, later| (later - earlier) / @seconds }
        end

        private

        def wakes
          workers = @run.workers
          { "supervisor" => ProcessTree.wakes(@run.pid).to_f,
            "worker" => workers.sum { |pid| ProcessTree.wakes(pid) }.fdiv(workers.size),
            "others" => @run.others.sum { |pid| ProcessTree.wakes(pid) }.to_f }
        end
      end
    end
  end
end
