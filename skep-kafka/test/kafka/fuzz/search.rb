# frozen_string_literal: true

require "kafka/fuzz/run"

module HandlerFuzz
  # Looks for programs for which skep breaks a rule, and reduces them.
  #
  #   Search.new.seeds(1..2_000)   # => a report of the first one, or nil
  #   Search.new.seed(17)          # => the same of that one
  class Search
    REDUCTIONS = 2_000 # programs that a reduction tries at most
    private_constant :REDUCTIONS

    def seeds(seeds)
      seeds.each { |seed| seed(seed)&.then { |report| return report } }
      nil
    end

    def seed(seed)
      program = Program.random(seed)
      why = broken(program) or return
      smallest, why = reduce(program, why)
      "seed #{seed} (SEED=#{seed} repeats it): #{why}\n#{smallest}"
    end

    # Returns the rule that the program breaks, or nil.
    def broken(program)
      Run.of(program)
      nil
    rescue Broken => e
      e.message
    end

    private

    def reduce(program, why)
      left = REDUCTIONS
      loop do
        smaller = program.reductions.find do |one|
          left -= 1
          found = broken(one) if left.positive?
          found && (why = found)
        end
        return program, why unless smaller

        program = smaller
      end
    end
  end
end
