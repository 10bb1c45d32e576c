# frozen_string_literal: true

# The preference of the kernel's OOM killer for this process: -1000 (never) to 1000 (first).
#
#   OomScore.adjustment          # => 0; nil if the system has none
#   OomScore.adjustment = 200    # any user may raise it; only root may go below what root has set
#
# Set it before a change of user: afterwards the file belongs to root. Each 10 count as 1 % of the
# memory that the process may use. A forked child inherits it.
# Source: proc(5), oom_score_adj.
module Skep
  module OS
    class Memory
      module OomScore
        HIGHEST = 1000
        FILE = "/proc/self/oom_score_adj"
        private_constant :HIGHEST, :FILE

        def self.adjustment
          Integer(File.read(FILE))
        rescue SystemCallError, ArgumentError # no Linux, or a /proc that hides it
          nil
        end

        # Values above 1000 count as 1000. Without permission nothing changes.
        def self.adjustment=(score)
          File.write(FILE, [score, HIGHEST].min.to_s)
        rescue SystemCallError # no Linux, or not root's own: where it was is where it stays
          nil
        end
      end
    end
  end
end
