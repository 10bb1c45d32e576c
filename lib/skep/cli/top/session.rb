# frozen_string_literal: true

# One person in front of one swarm, from the first frame to the last.
#
#   Session.new(path, status, input: $stdin, output: $stdout).run
#
# However it ends, the terminal is as it was before.
module Skep
  module CLI
    class Top < Command
      class Session
        SIGNALS = %w[TERM INT HUP QUIT TSTP CONT WINCH].freeze
        FRAME = 0.1 # seconds between two frames at the least, unless a key asks for one
        ESCAPE = 0.05 # what comes later belongs to no key that began before
        private_constant :SIGNALS, :FRAME, :ESCAPE

        #: (String, Hash[String, untyped], input: IO, output: IO, ?env: untyped) -> void
        def initialize(path, status, input:, output:, env: ENV)
          @input = input
          @loop = OS::EventLoop.new
          @screen = Screen.new(input, output, @loop)
          @frame = Frame.new(Paint.for(env))
          @meter = Meter.new
          @keyboard = Keyboard.new
          @wire = Wire.new(path, @loop, self)
          @view = View.new(status:, figures: @meter.take(status, OS.now, pids: false))
          @acts = Acts.new(@view, @wire)
          @drawn_at = 0.0
        end

        def run #: () -> void
          begin_all
          @loop.turn until @acts.left?
        rescue Errno::EIO, EOFError # the terminal has gone
          nil
        ensure
          end_all
        end

        # What the wire tells.
        def status(status, pids)
          @view.trouble = nil
          @view.status = status
          @view.figures = @meter.take(status, OS.now, pids:)
          draw_soon
        end

        def news(events)
          @view.add(events)
          @acts.hear(events)
          draw_soon
        end

        def trouble(sentence)
          @view.trouble = "#{sentence}; waiting for it"
          draw_soon
        end

        def told(sentence)
          @view.message = sentence
          draw_soon
        end

        private

        def begin_all
          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @loop.watch(@signals) { @signals.take.each { |name| signalled(name) } }
          @loop.watch(@input) { hear }
          @screen.open
          @wire.begin
          draw
        end

        def end_all
          @screen.close
          @wire.close
          @screen.end
          @signals&.release
          @loop.close
        end

        def hear
          keys = @keyboard.keys(@input.read_nonblock(4096, exception: false).then do |bytes|
            bytes == :wait_readable ? "" : bytes || raise(EOFError)
          end)
          press(keys)
          @loop.after(ESCAPE) { press(@keyboard.rest) } if @keyboard.waits?
        end

        def press(keys)
          keys.each { |key| @acts.press(key) }
          draw if keys.any?
        end

        def signalled(name)
          case name
          when "WINCH" then again
          when "TSTP" then suspend
          when "CONT" then @screen.open && again
          else @acts.press("q") until @acts.left?
          end
        end

        def again
          @screen.anew
          draw
        end

        # As if it had never caught it; it goes on here with CONT.
        def suspend
          @screen.close
          previous = trap("TSTP", "DEFAULT")
          Skep.pidfd(Process.pid).then { |own| own.signal(:TSTP).tap { own.close } }
          trap("TSTP", previous)
          @screen.open
        end

        def draw_soon
          @due ||= @loop.at(@drawn_at + FRAME) { draw }
        end

        def draw
          @due&.cancel
          @due = nil
          @drawn_at = OS.now
          rows, columns = @screen.size
          @screen.draw(@frame.lines(@view, rows:, columns:))
        end
      end
      private_constant :Session
    end
  end
end
