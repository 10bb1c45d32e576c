# frozen_string_literal: true

# The source of a Ruby program that prints the nanoseconds one expression takes: written ten times
# into the body of a loop, less the empty loop, and the median of several batches of that.
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
          BATCHES = 5
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
              figures = Array.new(#{BATCHES}) do
                (full(#{turns}, now, thing) - empty(#{turns}, now, thing)) / #{turns * COPIES}.0
              end
              puts figures.sort[#{BATCHES / 2}]
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
