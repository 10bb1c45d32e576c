# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # An open page: the socket over which a browser is told of changes (text/event-stream). It is
      # written to without waiting; one that reads too slowly is closed, and comes again by itself.
      #
      #   page = Page.new(socket, loop) { |page| … }    # the block: it has gone
      #   page.put(frame)
      #   page.close
      class Page
        BACKLOG = 2 * 1024 * 1024
        private_constant :BACKLOG

        # One event; JSON has no line's end in it.
        def self.frame(facts) = "data: #{JSON.generate(facts)}\n\n".b.freeze #: (Hash) -> String

        attr_reader :place #: Places::Place?

        #: (BasicSocket, OS::EventLoop, ?place: Places::Place?) { (Page) -> void } -> void
        def initialize(socket, loop, place: nil, &gone)
          @socket = socket
          @place = place
          @gone = gone
          @out = String.new(encoding: Encoding::BINARY)
          @watch = loop.watch(socket) { |readable, writable| turn(readable, writable) }
        end

        def put(frame) #: (String) -> void
          return if @socket.closed?

          @out << frame
          write
          leave if @out.bytesize > BACKLOG
        rescue SystemCallError, IOError # it has gone
          leave
        end

        def close #: () -> void
          return if @socket.closed?

          @watch.cancel
          @socket.close
        end

        # Closes it, and says so.
        def leave #: () -> void
          close
          @gone.call(self)
        end

        private

        def turn(readable, writable)
          write if writable
          hear if readable && !@socket.closed?
        rescue SystemCallError, IOError # it has gone
          leave
        end

        # A browser says nothing more: what comes is its end.
        def hear
          leave if @socket.read_nonblock(4096, exception: false).nil?
        end

        def write
          return if @out.empty?

          written = @socket.write_nonblock(@out, exception: false)
          @out = @out.byteslice(written..) unless written == :wait_writable
          @watch.write = !@out.empty?
        end
      end
      private_constant :Page
    end
  end
end
