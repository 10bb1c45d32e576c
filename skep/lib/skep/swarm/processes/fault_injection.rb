# frozen_string_literal: true

# Harm that a node does to itself on the order of `skep chaos`, in a swarm with `chaos:
# true`.
#
#   FaultInjection.run("hang")              # every other thread stops at its next line
#   FaultInjection.run("leak", 32 << 20)    # so many bytes more, for good
#
# Nothing calls it in a swarm without that option.
module Skep
  class Swarm
    module Processes
      module FaultInjection
        @leaked = []

        class << self
          def run(order, bytes = nil)
            case order
            when "hang" then hang(Thread.current)
            when "leak" then @leaked << ("x" * bytes.to_i)
            end
          end

          private

          def hang(spared)
            nothing = Queue.new
            TracePoint.new(:line, :return, :c_return) do
              nothing.pop unless Thread.current == spared
            end.enable
          end
        end
      end
    end
  end
end
