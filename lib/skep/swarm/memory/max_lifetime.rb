# frozen_string_literal: true

# Tells when nodes have reached `max_lifetime`.
#
#   max_lifetime = MaxLifetime.new(3600.0, loop:) { |node| … }   # to be replaced
#   max_lifetime.watch(node)                                     # which is ready just now
#
# A node's own limit is up to a tenth lower or higher. So nodes that were forked together aren't
# replaced together.
module Skep
  class Swarm
    module Memory
      class MaxLifetime
        JITTER = 0.1
        AGAIN = 10.0 # seconds: the node may not be replaceable for now
        private_constant :JITTER, :AGAIN

        def initialize(seconds, loop:, random: Random, &replace)
          @seconds = seconds
          @loop = loop
          @random = random
          @replace = replace
        end

        def watch(node)
          replace_in(@seconds * (1 + (JITTER * ((2 * @random.rand) - 1))), node)
        end

        private

        def replace_in(seconds, node)
          node.watches << @loop.after(seconds) do
            replace_in(AGAIN, node)
            @replace.call(node)
          end
        end
      end
    end
  end
end
