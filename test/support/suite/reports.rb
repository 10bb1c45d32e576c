# frozen_string_literal: true

module TestSuite
  # Adds to each failure the command that runs its file again, in the same order.
  class Reruns < Minitest::Reporter
    # A result that knows the command.
    module Rerun
      attr_accessor :rerun

      def to_s = "#{super}\nRerun: #{rerun}\n"
    end

    def initialize(io, options, plan)
      super(io, options)
      @plan = plan
    end

    def record(result)
      return if result.passed? || result.skipped?

      pure = "SKEP_PURE=1 " if ENV["SKEP_PURE"] == "1"
      result.extend(Rerun)
      result.rerun = "#{pure}bin/test #{@plan.path(result.klass)} --seed #{Minitest.seed}"
    end
  end

  # Prints the slowest tests, ahead of Minitest's summary.
  class Slowest < Minitest::Reporter
    SHOWN = 20
    private_constant :SHOWN

    def initialize(io, options, plan)
      super(io, options)
      @plan = plan
      @slowest = []
    end

    def record(result)
      @slowest = [*@slowest, result].max_by(SHOWN, &:time)
    end

    def report
      io.puts "\n", "The slowest of these tests, run with --seed #{Minitest.seed}:"
      @slowest.each do |test|
        path = @plan.path(test.klass)
        io.puts format("%7.2f s  %s: %s#%s", test.time, path, test.klass, test.name)
      end
    end
  end
end
