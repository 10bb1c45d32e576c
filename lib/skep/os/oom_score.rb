# frozen_string_literal: true

# How soon the kernel ends this process when memory runs out: -1000 (never) to 1000 (first).
#
#   OomScore.adjustment          # => 0; nil where there is no such thing
#   OomScore.adjustment = 200    # anybody may raise it, root alone may go below where root set it
#
# Set it before a change of user, after which these files are root's.
# Each 10 count as 1 % of the memory that the process may use. A child begins with its parent's.
# Source: proc(5), oom_score_adj.
module Skep
  module OS
    module OomScore
      HIGHEST = 1000
      FILE = "/proc/self/oom_score_adj"
      private_constant :HIGHEST, :FILE

      #: () -> Integer?
      def self.adjustment
        Integer(File.read(FILE))
      rescue SystemCallError, ArgumentError # no Linux, or a /proc that hides it
        nil
      end

      # Past the highest it is the highest. Nothing happens where we may not.
      #
      #: (Integer) -> void
      def self.adjustment=(score)
        File.write(FILE, [score, HIGHEST].min.to_s)
      rescue SystemCallError # no Linux, or not root's own: where it was is where it stays
        nil
      end
    end
  end
end
