# frozen_string_literal: true

# Takes over the terminal, and gives it back as it was.
#
#   terminal = Terminal.new($stdin, $stdout, loop)
#   terminal.enter
#   terminal.draw(lines)   # writes only what has changed, as one frame if the terminal can
#   terminal.size          # => [24, 80]
#   terminal.leave         # may be called again
#   terminal.close
#
# It never blocks. On a slow terminal it skips frames: it writes one to its end, then the newest.
module Skep
  module CLI
    module Top
      class Terminal
        # The alternate screen (xterm's 1049), no cursor, no wrapping; and back.
        ENTER = "\e[?1049h\e[?25l\e[?7l\e[2J"
        LEAVE = "\e[?2026l\e[0m\e[?7h\e[?25h\e[?1049l"
        # A synchronized update; terminals that don't know it ignore it.
        BEGIN_FRAME = "\e[?2026h"
        END_FRAME = "\e[?2026l"
        SIZE = [24, 80].freeze # of a terminal that doesn't report it
        LEAVE_TIMEOUT = 1.0
        private_constant :ENTER, :LEAVE, :BEGIN_FRAME, :END_FRAME, :SIZE, :LEAVE_TIMEOUT

        def initialize(input, output, loop)
          @input = input
          @given = output
          @output = reopen(output)
          @rest = String.new(encoding: Encoding::BINARY)
          @shown = []
          @watch = loop.watch(@output) { flush }
          @watch.read = false
        end

        def size
          size = @input.winsize
          size.all?(&:positive?) ? size : SIZE
        end

        # The keys ^C and ^Z stay signals. May be called again: after a STOP, which can't be caught,
        # the shell has set its own mode.
        def enter
          @mode ||= @input.console_mode
          @input.raw!(intr: true)
          redraw
        end

        # Clears the screen; the next frame is written whole.
        def redraw
          @shown = []
          write(ENTER)
        end

        def draw(lines)
          return unless @mode
          return @next = lines unless @rest.empty?

          @next = nil
          changed = changes(lines)
          write("#{BEGIN_FRAME}#{changed}#{END_FRAME}") unless changed.empty?
          @shown = lines
        end

        def leave
          return unless @mode

          write_last
          @input.console_mode = @mode
          @mode = nil
        end

        def close
          @watch.cancel
          @output.close unless @output.equal?(@given)
        end

        private

        # Other processes have the terminal open, too, and must not find it non-blocking.
        def reopen(output)
          File.open("/proc/self/fd/#{output.fileno}", File::WRONLY | File::NONBLOCK | File::NOCTTY)
        rescue SystemCallError # no /proc, or no permission
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
          @watch.write = !@rest.empty?
          draw(@next) if @next && @rest.empty?
        rescue SystemCallError # the terminal has gone: reading from it ends the app
          @rest.clear
        end

        # A frame that isn't written by now is dropped.
        def write_last
          @next = nil
          @rest = LEAVE.b
          deadline = OS.now + LEAVE_TIMEOUT
          flush until @rest.empty? || !@output.wait_writable([deadline - OS.now, 0].max)
        end
      end
    end
  end
end
