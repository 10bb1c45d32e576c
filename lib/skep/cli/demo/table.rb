# frozen_string_literal: true

require "io/console"

# The view for a terminal: a frame redrawn in place five times a second.
#
# Lines too long for the terminal are cut by it, since it is told not to wrap them meanwhile.
module Skep
  module CLI
    class Demo
      class Table
        EVERY = 0.2
        BEGIN_FRAME = "\e[?25l\e[?7l" # hide the cursor, don't wrap
        END_FRAME = "\e[?7h\e[?25h"
        private_constant :EVERY, :BEGIN_FRAME, :END_FRAME

        def initialize(out, env: ENV) #: (IO, ?env: untyped) -> void
          @out = out
          @frame = Frame.new(colours: env["NO_COLOR"].to_s.empty?,
                             unicode: Encoding.find("locale") == Encoding::UTF_8)
          @height = 0
        end

        def draw(scene, now) #: (Scene, Float) -> void
          @last = scene
          return if @drawn_at && now - @drawn_at < EVERY

          @drawn_at = now
          show(scene, now)
        end

        # Leaves the last state on the screen.
        def close #: () -> void
          show(@last, OS.now) if @last
          @out.write(END_FRAME, "\n")
          @out.flush
        end

        private

        def show(scene, now)
          rows, columns = @out.winsize
          lines = @frame.lines(scene, now, rows:, columns:).first(rows - 1)
          up = @height.zero? ? "" : "\e[#{@height}A"
          @out.write(BEGIN_FRAME, up, *lines.map { |line| "\r\e[2K#{line}\n" }, "\e[J")
          @out.flush
          @height = lines.size
        end
      end
      private_constant :Table
    end
  end
end
