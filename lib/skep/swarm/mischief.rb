# frozen_string_literal: true

# Harm that a node does to itself when `skep chaos` orders it, in a swarm with `chaos: true`.
#
#   Mischief.do("hang")               # every thread but this one stands still at its next line
#   Mischief.do("leak", 32 << 20)     # so many bytes more, for good
#
# Nothing calls it in a swarm without that option.
module Skep
  class Swarm
    module Mischief
      @leaked = []

      class << self
        def do(order, bytes = nil) #: (String, ?Integer?) -> void
          case order
          when "hang" then hang(Thread.current)
          when "leak" then @leaked << ("x" * bytes)
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
    private_constant :Mischief
  end
end
