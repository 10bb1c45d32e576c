# frozen_string_literal: true

# A node counts its own pages, asked by the supervisor: every page is looked at, 17 ms a gigabyte,
# so neither may the supervisor's loop wait for it nor does it ask often (docs/decisions).
#
#   MemorySample.of_self        # => {"rss" => …, "pss" => …, "seconds" => …}, what NodeMemory takes
#   MemorySample.leave(page, cell)   # the node's: on the page, so that nobody is woken
#   MemorySample.find(page, cell)    # the supervisor's: when it was left, and what; {}: the node
#                                # couldn't count; nil: nothing, or nothing that makes sense
#
# "seconds" is the processor's time that it took. Where there is no /proc, or no descriptor left to
# open a file with, it is {}.
module Skep
  class Swarm
    module IPC
      module Scoreboard
        module MemorySample
          BYTES = %w[rss pss uss shared swap anonymous].freeze
          MOST = 2**53 # bytes
          CLOCK = Process::CLOCK_THREAD_CPUTIME_ID
          private_constant :MOST, :CLOCK

          class << self
            def of_self #: () -> Hash[String, untyped]
              began = Process.clock_gettime(CLOCK)
              memory = OS::Memory.of or return {}
              anonymous = OS::Memory::Statm.of&.anonymous or return {}
              seconds = Process.clock_gettime(CLOCK) - began
              { **memory.to_h.transform_keys(&:to_s), "anonymous" => anonymous,
"seconds" => seconds }
            end

            def leave(page, cell) #: (OS::SharedPage, Integer) -> void
              page.write(cell, JSON.generate([OS.now, of_self]))
            end

            #: (OS::SharedPage, Integer) -> [Float, Hash[String, untyped]]?
            def find(page, cell)
              text = page.read(cell) or return
              at, plain = JSON.parse(text.scrub)
              return unless at.is_a?(Float) && at.between?(0.0, OS.now) && plain.is_a?(Hash)

              [at, plain.empty? ? {} : read(plain)]
            rescue JSON::ParserError, ArgumentError, KeyError, TypeError, FloatDomainError
              nil # A node can write there what it likes.
            end

            # What a node has written: numbers, or it raises ArgumentError, KeyError, TypeError or
            # FloatDomainError.
            #: (Hash[String, untyped]) -> Hash[String, untyped]
            def read(plain)
              bytes = BYTES.to_h { |name| [name, Integer(plain.fetch(name)).clamp(0, MOST)] }
              { **bytes, "seconds" => Float(plain.fetch("seconds")).clamp(0.0, 60.0) }
            end
          end
        end
      end
    end
  end
end
