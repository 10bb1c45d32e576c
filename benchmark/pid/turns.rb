# frozen_string_literal: true

# The source of a Ruby program that prints the nanoseconds of one expression. It has the expression
# ten times in the body of a loop, and subtracts the empty loop. Each is the minimum of several
# batches, because disturbances only add time.
#
#   Turns.source("Skep.pid", turns: 20_000, setup: 'require "skep/fork"')
#
# The expression is source text, because the call of a block would cost more than the expression.
# `thing` is a local variable there, the value of the setup.
module Skep
  module Benchmarks
    class Pid < Benchmark
      module Turns
        COPIES = 10
        BATCHES = 15
        private_constant :COPIES, :BATCHES

        def self.source(expression, turns:, setup: "")
          <<~RUBY
            thing = begin
              #{setup}
            end
            now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
            #{definition("empty", "")}
            #{definition("full", "#{expression}; " * COPIES)}
            batches = Array.new(#{BATCHES}) do
              [full(#{turns}, now, thing), empty(#{turns}, now, thing)]
            end
            full, empty = batches.transpose.map(&:min)
            puts (full - empty) / #{turns * COPIES}.0
          RUBY
        end

        def self.definition(name, body)
          <<~RUBY
            def #{name}(turns, now, thing)
              turn = 0
              began = now.call
              while turn < turns
                turn += 1
                #{body}
              end
              now.call - began
            end
          RUBY
        end
        private_class_method :definition
      end
      private_constant :Turns
    end
  end
end
