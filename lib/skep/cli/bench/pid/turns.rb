# frozen_string_literal: true

# The source of a Ruby program that prints the nanoseconds one expression takes: written ten times
# into the body of a loop, less the empty loop, each the quickest of several batches: what disturbs
# a loop only ever adds.
#
#   Turns.source("Skep.pid", turns: 20_000, setup: 'require "skep/fork"')
#
# Written out, not called as a block: a block's call would cost more than what is measured. `thing`
# is a local variable there, what the setup ends with.
module Skep
  module CLI
    class Bench
      class Pid < Contest
        module Turns
          COPIES = 10
          BATCHES = 15
          private_constant :COPIES, :BATCHES

          #: (String, turns: Integer, ?setup: String) -> String
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
end
