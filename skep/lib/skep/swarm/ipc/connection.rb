# frozen_string_literal: true

# Serves a channel from an event loop: calls a block with each message that the table allows,
# and sends the backlog when the socket is writable.
#
#   connection = Connection.new(loop, channel, Messages::FROM_NODE, ended: -> { … }) { |frame| … }
#   connection.listen      # from here on; frames that came before are handled first
#   connection.post("stop")
#   connection.drain       # handles everything that has come
#   connection.close
#
# A frame is decoded and checked before the block gets it. `protocol_error` is called with the
# error if the other end sends no frame, or none of the table; the default is to raise it.
# `guard` calls the block for each frame: what the block raises is our own bug, and the frames
# after it are handled all the same.
module Skep
  class Swarm
    module IPC
      class Connection
        RETRY = 0.1 # seconds, where the kernel refuses what is to be sent
        PIECES = 64 # turns that a drain reads at most: more than a socket holds
        private_constant :RETRY, :PIECES

        # messages: the table of what the other end may send.
        def initialize(loop, channel, messages, ended: -> {},
                       protocol_error: ->(error) { raise error },
                       guard: ->(_type, &block) { block.call }, &heard)
          @loop = loop
          @channel = channel
          @messages = messages
          @ended, @protocol_error, @guard = ended, protocol_error, guard
          @heard = heard
        end

        def listen
          @watch = @loop.watch(@channel.to_io) { |readable, _| turn(readable) }
          flush
          self
        end

        def post(...)
          @channel.post(...).tap { flush }
        end

        def post_encoded(...)
          @channel.post_encoded(...).tap { flush }
        end

        # Handles all frames that have come. Returns false if the other end is gone.
        def drain
          PIECES.times do
            state = receive
            return state unless state == :more
          end
          true
        end

        def open? = !@channel.closed?

        def close
          [@watch, @retry].each { |one| one&.cancel }
          @channel.close
        end

        private

        # If more has come than one turn reads, the loop calls again, after the other connections.
        def turn(readable)
          flush
          return if !readable || receive

          close
          @ended.call
        end

        # A protocol error is reported before the channel closes, as the other process ends by that.
        def receive
          return false if @channel.closed?

          state = @channel.receive do |frame|
            @messages.check(frame)
            @guard.call(frame.type) { @heard.call(frame) }
          end
          @channel.closed? || state
        rescue Channel::ProtocolError => e
          @protocol_error.call(e)
          close
          true
        end

        def flush
          return if @channel.closed?

          @channel.flush
          @watch.write = @channel.pending? && !@channel.send_buffer_full? if @watch
          retry_later if @channel.send_buffer_full?
        end

        def retry_later
          @retry ||= @loop.after(RETRY) do
            @retry = nil
            flush
          end
        end
      end
    end
  end
end
