# frozen_string_literal: true

# `skep top` from its first frame to its last, for one swarm.
#
#   App.new(path, status, input: $stdin, output: $stdout).run
#
# However it ends, the terminal is as it was before.
module Skep
  module CLI
    module Top
      class App
        SIGNALS = %w[TERM INT HUP QUIT TSTP CONT WINCH].freeze
        FRAME = 0.1 # seconds between two frames at least, unless a key was pressed
        ESCAPE = 0.05 # seconds after which bytes no longer continue a key
        private_constant :SIGNALS, :FRAME, :ESCAPE

        def initialize(path, status, input:, output:, env: ENV)
          @input = input
          @loop = OS::EventLoop.new
          @terminal = Terminal.new(input, output, @loop)
          @renderer = Renderer.new(Styler.for(env))
          @key_parser = KeyParser.new
          @poller = Poller.new(path, @loop, self)
          @model = Model.new(status)
          @bindings = KeyBindings.new(@model, @poller)
          @drawn_at = 0.0
        end

        def run
          start
          @loop.turn until @bindings.quit?
        rescue Errno::EIO, EOFError # the terminal has gone
          nil
        ensure
          finish
        end

        # The Poller calls these.

        def status_changed(status, local)
          @model.update(status, OS.now, local:)
          draw_soon
        end

        def events_arrived(events)
          @model.add(events)
          @bindings.observe(events)
          draw_soon
        end

        # The events that the swarm had kept. Backtraces among them were not asked for here.
        def past_arrived(events)
          @model.add(events)
          draw_soon
        end

        def failed(sentence)
          @model.problem = "#{sentence}; waiting for it"
          draw_soon
        end

        def notice(sentence)
          @model.message = sentence
          draw_soon
        end

        private

        def start
          @signals = Swarm::Runtime::SelfPipe.new(SIGNALS)
          @loop.watch(@signals) { @signals.take.each { |name| signalled(name) } }
          @loop.watch(@input) { read_keys }
          @terminal.enter
          @poller.start
          draw
        end

        def finish
          @terminal.leave
          @poller.close
          @terminal.close
          @signals&.release
          @loop.close
        end

        def read_keys
          bytes = @input.read_nonblock(4096, exception: false)
          raise EOFError unless bytes

          press(@key_parser.keys(bytes == :wait_readable ? "" : bytes))
          @loop.after(ESCAPE) { press(@key_parser.flush) } if @key_parser.incomplete?
        end

        def press(keys)
          keys.each { |key| @bindings.press(key) }
          draw if keys.any?
        end

        def signalled(name)
          case name
          when "WINCH" then redraw
          when "TSTP" then suspend
          when "CONT"
            @terminal.enter
            redraw
          else @bindings.press("q") until @bindings.quit?
          end
        end

        def redraw
          @terminal.redraw
          draw
        end

        # As if the signal had not been caught. CONT continues here.
        def suspend
          @terminal.leave
          previous = trap("TSTP", "DEFAULT")
          Skep.pidfd(Process.pid).then { |own| own.signal(:TSTP).tap { own.close } }
          trap("TSTP", previous)
          @terminal.enter
        end

        def draw_soon
          @due ||= @loop.at(@drawn_at + FRAME) { draw }
        end

        def draw
          @due&.cancel
          @due = nil
          @drawn_at = OS.now
          rows, columns = @terminal.size
          @terminal.draw(@renderer.lines(@model, rows:, columns:))
        end
      end
    end
  end
end
