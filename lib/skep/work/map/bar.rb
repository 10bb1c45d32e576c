# frozen_string_literal: true

module Skep
  module Work
    class Map
      # How far a map is, on the last line of a terminal:
      #
      #   Progress  42% |=========>             | 420/1000  00:12 left
      #
      # Where nobody knows how many items there are it counts them. Nothing is written to what is
      # no terminal.
      class Bar
        OFTEN = 0.1
        WIDTH = 30
        private_constant :OFTEN, :WIDTH

        # nil when none is wanted or can be seen. A wish is true, a title, or a Hash of title and
        # output.
        #
        #: (untyped wish, Integer? total) -> Bar?
        def self.for(wish, total)
          return unless wish

          wish = { title: wish } unless wish.is_a?(Hash) || wish == true
          title, out = wish.values_at(:title, :output) if wish.is_a?(Hash)
          out ||= $stderr
          new(title || "Progress", total, out) if terminal?(out)
        end

        #: (untyped out) -> bool
        def self.terminal?(out)
          out.respond_to?(:tty?) && out.tty?
        rescue IOError
          false # Closed.
        end
        private_class_method :terminal?

        #: (String title, Integer? total, IO out) -> void
        def initialize(title, total, out)
          @title = title
          @total = total
          @out = out
          @began = OS.now
          @next = 0.0
          @done = 0
        end

        #: (Integer count) -> void
        def advance(count)
          @done += count
          draw(OS.now) if OS.now >= @next
        end

        #: () -> void
        def finish = draw(OS.now)

        # Leaves the line as it is and begins another.
        #
        #: () -> void
        def close = @out.write("\n")

        # The line at that moment.
        #
        #: (Float now) -> String
        def line(now)
          spent = now - @began
          return "#{@title} #{@done}  #{clock(spent)}" unless @total&.positive?

          share = @done.fdiv(@total)
          filled = "#{"=" * (share * WIDTH)}>"[0, WIDTH].ljust(WIDTH)
          format("%s %3d%% |%s| %d/%d  %s", @title, share * 100, filled, @done, @total,
                 remainder(spent, share))
        end

        private

        #: (Float spent, Float share) -> String
        def remainder(spent, share)
          return "#{clock(spent)} in all" if share >= 1
          return "" if share.zero?

          "#{clock((spent / share) - spent)} left"
        end

        #: (Float seconds) -> String
        def clock(seconds)
          minutes, seconds = seconds.round.divmod(60)
          hours, minutes = minutes.divmod(60)
          parts = hours.positive? ? [hours, minutes, seconds] : [minutes, seconds]
          parts.map { |part| format("%02d", part) }.join(":")
        end

        #: (Float now) -> void
        def draw(now)
          @next = now + OFTEN
          @out.write("\r#{line(now)}\e[K")
        end
      end
      private_constant :Bar
    end
  end
end
