# frozen_string_literal: true

# A channel served by a loop: frames come in by a block,
# what the socket couldn't take goes out when it can.
#
#   link = Connection.new(loop, channel, Messages::FROM_NODE, ended: -> { … }) { |frame| … }
#   link.listen      # from here on; frames that came before are heard first
#   link.post("stop")
#   link.drain       # whatever has come and wasn't heard yet
#   link.close
#
# `protocol_error` is called with the error when the other end sends no frame, or one that isn't in
# the table of messages; `failed` with the error and the frame when the block raises, which is a bug
# of ours and not the other end's. Without them both are raised.
module Skep
  class Swarm
    module IPC
      class Connection
        RETRY = 0.1 # seconds, where the kernel refuses what is to be sent
        PIECES = 64 # that a drain reads at most: more than a socket holds
        private_constant :RETRY, :PIECES

        # messages: nil if what the other end sends needs no check.
        #: (OS::EventLoop, Channel, ?Messages?, **Proc) { (Channel::Message) -> void } -> void
        def initialize(loop, channel, messages = nil, ended: -> {},
                       protocol_error: ->(error) { raise error },
                       failed: ->(error, _frame) { raise error }, &heard)
          @loop = loop
          @channel = channel
          @messages = messages
          @ended, @protocol_error, @failed = ended, protocol_error, failed
          @heard = heard
        end

        def listen #: () -> self
          @watch = @loop.watch(@channel.to_io) { |readable, _| turn(readable) }
          flush
          self
        end

        def post(...) #: (*untyped, **untyped) -> bool
          @channel.post(...).tap { flush }
        end

        # Handles all that has come. False when the other end is gone.
        def drain #: () -> bool
          PIECES.times do
            state = receive
            return state unless state == :more
          end
          true
        end

        def to_io = @channel.to_io #: () -> BasicSocket
        def dump = @channel.remainder #: () -> Hash[String, untyped]
        def fds_in_flight? = @channel.fds_in_flight? #: () -> bool

        # Is there still somebody to be heard?
        def open? = !@channel.closed? #: () -> bool

        def close #: () -> void
          [@watch, @retry].each { |one| one&.cancel }
          @channel.close
        end

        private

        # The loop calls again where more has come than one turn reads: the other links come first.
        def turn(readable)
          flush
          return if !readable || receive

          close
          @ended.call
        end

        def receive
          return false if @channel.closed?

          state = attempt { @channel.fill }
          while (frame = next_frame)
            handle(frame)
          end
          @channel.closed? || state
        end

        def next_frame
          return if @channel.closed?

          attempt do
            frame = @channel.next_frame
            frame && @messages ? @messages.incoming(frame) : frame
          end
        end

        # Who sends nonsense is reported before its channel is closed, as it ends by that.
        def attempt
          yield
        rescue Channel::ProtocolError => e
          @protocol_error.call(e)
          close
          nil
        end

        def handle(frame)
          @heard.call(frame)
        rescue StandardError => e # whatever a bug of ours raises
          @failed.call(e, frame)
        end

        def flush
          return if @channel.closed?

          @channel.flush
          @watch.write = @channel.pending? && !@channel.refused? if @watch
          retry_later if @channel.refused?
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
