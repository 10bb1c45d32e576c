# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # How fast nodes count things as done, over the last seconds, where their work doesn't tell.
      #
      #   pace = Pace.new
      #   pace.of("0", 1200, now)     # => nil at first, then so many a second
      #   pace.keep(["0", "1"])       # the others are gone
      class Pace
        SECONDS = 10.0
        private_constant :SECONDS

        def initialize #: () -> void
          @counts = Hash.new { |all, key| all[key] = [] }
        end

        def of(key, done, now) #: (String, Numeric, Float) -> Float?
          counts = @counts[key]
          counts.clear if counts.any? && done < counts.last[1] # another process has begun anew
          counts << [now, done]
          counts.shift while now - counts[0][0] > SECONDS && counts.size > 2
          (began, before), = counts
          ((done - before) / (now - began)).round(1) if now > began
        end

        def keep(keys) #: (Array[String]) -> void
          @counts.delete_if { |key, _| !keys.include?(key) }
        end
      end
      private_constant :Pace
    end
  end
end
