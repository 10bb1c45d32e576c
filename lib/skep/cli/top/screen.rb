# frozen_string_literal: true

# The terminal, taken over while it is open, and given back as it was.
#
#   screen = Screen.new($stdin, $stdout, loop)
#   screen.open
#   screen.draw(lines)     # only what has changed is written, at once where terminals can do that
#   screen.size            # => [24, 80]
#   screen.close           # as often as you like
#
# A terminal that is slow costs frames: one is written to its end, then the newest. It never blocks.
module Skep
  module CLI
    class Top < Command
      class Screen
        # Another screen (xterm's 1049), no cursor, no wrapping, and back.
        OPEN = "\e[?1049h\e[?25l\e[?7l\e[2J"
        CLOSE = "\e[?2026l\e[0m\e[?7h\e[?25h\e[?1049l"
        # Shown as one; terminals that don't know it ignore it.
        BEGIN_FRAME = "\e[?2026h"
        END_FRAME = "\e[?2026l"
        SIZE = [24, 80].freeze # where it isn't told
        LAST_SECONDS = 1.0 # for a slow terminal, at the end
        private_constant :OPEN, :CLOSE, :BEGIN_FRAME, :END_FRAME, :SIZE, :LAST_SECONDS

        def initialize(input, output, loop) #: (IO, IO, OS::EventLoop) -> void
          @input = input
          @output = own(output)
          @rest = String.new(encoding: Encoding::BINARY)
          @shown = []
          @door = loop.watch(@output) { flush }
          @door.read = false
        end

        def size #: () -> [Integer, Integer]
          size = @input.winsize
          size.all?(&:positive?) ? size : SIZE
        end

        # Signals from keys (^C, ^Z) stay signals.
        def open #: () -> void
          return if @mode

          @mode = @input.console_mode
          @input.raw!(intr: true)
          anew
        end

        # Whatever is there by now.
        def anew #: () -> void
          @shown = []
          write(OPEN)
        end

        def draw(lines) #: (Array[String]) -> void
          return unless @mode
          return @next = lines unless @rest.empty?

          @next = nil
          changed = changes(lines)
          write("#{BEGIN_FRAME}#{changed}#{END_FRAME}") unless changed.empty?
          @shown = lines
        end

        def close #: () -> void
          return unless @mode

          give_back
          @input.console_mode = @mode
          @mode = nil
        end

        def end #: () -> void
          @door.cancel
          @output.close unless @output.equal?(@given)
        end

        private

        # Others have it open too, and are not to find it non-blocking.
        def own(output)
          @given = output
          File.open("/proc/self/fd/#{output.fileno}", File::WRONLY | File::NONBLOCK | File::NOCTTY)
        rescue SystemCallError # no /proc, or it isn't ours to open
          output
        end

        def changes(lines)
          [lines.size, @shown.size].max.times.filter_map do |row|
            "\e[#{row + 1};1H#{lines[row]}\e[K" unless lines[row] == @shown[row]
          end.join
        end

        def write(text)
          @rest << text.encode(Encoding.find("locale"), undef: :replace).b
          flush
        end

        def flush
          written = @output.write_nonblock(@rest, exception: false)
          @rest = @rest.byteslice(written..) if written.is_a?(Integer)
          @door.write = !@rest.empty?
          draw(@next) if @next && @rest.empty?
        rescue SystemCallError # the terminal has gone: its end is told by the keyboard
          @rest.clear
        end

        # What isn't written by now is of no use.
        def give_back
          @next = nil
          @rest = CLOSE.b
          deadline = OS.now + LAST_SECONDS
          flush until @rest.empty? || !@output.wait_writable([deadline - OS.now, 0].max)
        end
      end
      private_constant :Screen
    end
  end
end
