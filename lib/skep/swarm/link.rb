# frozen_string_literal: true

# A channel served by a loop: frames come in by a block,
# what the socket couldn't take goes out when it can.
#
#   link = Link.new(loop, channel, ended: -> { … }) { |frame| … }
#   link.listen      # from here on; frames that came before are heard first
#   # `garbled` is called with the error when the other end sends what can't be understood
#   link.send("stop")
#   link.drain       # whatever has come and wasn't heard yet
#   link.close
module Skep
  class Swarm
    class Link
      RETRY = 0.1 # seconds, where the kernel refuses what is to be sent
      private_constant :RETRY

      def initialize(loop, channel, ended: -> {}, garbled: ->(error) { raise error }, &heard)
        @garbled = garbled
        @loop = loop
        @channel = channel
        @heard = heard
        @ended = ended
      end

      def listen #: () -> self
        @watch = @loop.watch(@channel.to_io) { |readable, _| turn(readable) }
        flush
        self
      end

      def send(...) #: (*untyped, **untyped) -> bool
        @channel.send(...).tap { flush }
      end

      # Hears what has come. False when the other end is gone. Who talks nonsense is told of first:
      # a close would let it end by itself before it is made to.
      def drain #: () -> bool
        @channel.closed? ? false : @channel.receive(&@heard)
      rescue Skep::Error, ArgumentError, TypeError, NoMethodError, KeyError, JSON::ParserError => e
        @garbled.call(e) # it isn't our language
        close
        true
      end

      def to_io = @channel.to_io #: () -> BasicSocket
      def keep = @channel.remainder #: () -> Hash[String, untyped]
      def laden? = @channel.laden? #: () -> bool

      # Is there still somebody to be heard?
      def open? = !@channel.closed? #: () -> bool

      def close #: () -> void
        [@watch, @retry].each { |one| one&.cancel }
        @channel.close
      end

      private

      def turn(readable)
        flush
        return if !readable || drain

        close
        @ended.call
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
