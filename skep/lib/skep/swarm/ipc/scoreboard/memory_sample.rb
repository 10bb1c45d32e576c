# frozen_string_literal: true

# A node's count of its own pages, which it makes itself (Memory::MemoryMeter).
#
#   MemorySample.of_self             # => {"rss" => …, "pss" => …}; {}: it can't count
#   MemorySample.leave(page, cell, OS.now, sample)   # in the node: writes it to the page
#   MemorySample.find(page, cell)    # in the supervisor: [when, what]
#                                    # nil: there is nothing, or nothing valid
module Skep
  class Swarm
    module IPC
      module Scoreboard
        module MemorySample
          BYTES = %w[rss pss uss shared swap anonymous].freeze
          MOST = 2**53 # bytes
          private_constant :MOST

          class << self
            # Returns {} without /proc, without a free descriptor to open a file with, or where the
            # process may not read its own files (AppArmor).
            def of_self
              memory = OS::Memory.of
              statm = OS::Memory::Statm.of
              return {} unless memory && statm

              { **memory.to_h.transform_keys(&:to_s), "anonymous" => statm.anonymous }
            rescue Errno::EACCES
              {}
            end

            def leave(page, cell, now, sample)
              page.write(cell, [now, *sample.values_at(*BYTES).compact].pack("DQ*"))
            end

            def find(page, cell)
              at, *bytes = page.read(cell)&.unpack("DQ*")
              return unless at && at >= 0.0 && at <= OS.now # a node can write anything there
              return [at, {}] if bytes.empty?

              [at, BYTES.zip(bytes.map { |count| count.clamp(0, MOST) }).to_h] if
                bytes.size == BYTES.size
            end
          end
        end
      end
    end
  end
end
