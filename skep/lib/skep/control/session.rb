# frozen_string_literal: true

# One client of the control socket: reads one line, writes the reply, and closes. A client that
# follows the events gets them until it closes its end or reads too slowly.
#
#   session = Session.new(socket, loop, on_close: ->(session) { … },
#                         guard: events.method(:guard)) { |session, request| … }
#   session.reply("a reply\n")   # within that block, or later
#   session.follow               # called before the reply: the session stays open
#   session.follow(debug: true)  # the same, for events of all levels
#   session.past = lines         # called before the reply: these come right after it
#   session.write_event(line)    # to a client that follows
#   session.close
#
# It never blocks. An error of skep's own in the block is reported by the guard, and closes the
# session. A follower with more than BACKLOG unread bytes, beside those of the past, gets a last
# line that says how many events it has missed, and nothing more.
module Skep
  module Control
    class Session
      REQUEST_BYTES = 65_536
      CHUNK = 4096
      BACKLOG = 1024 * 1024
      TIMEOUT = 5.0 # to send a request, and to read the reply
      private_constant :REQUEST_BYTES, :CHUNK, :BACKLOG, :TIMEOUT

      def initialize(socket, loop, on_close:, guard:, &respond)
        @socket = socket
        @loop = loop
        @on_close = on_close
        @guard = guard
        @respond = respond
        @request = String.new
        @limit = BACKLOG
        @out = String.new(encoding: Encoding::BINARY)
        @watch = loop.watch(socket) { |readable, writable| process(readable, writable) }
        start_timeout
      end

      def follows? = @follows && !@closing

      # Returns true if it has sent a request and has no reply yet.
      def awaiting_reply? = @requested && !@follows && !@closing

      # Returns true if it may be closed for another client.
      def idle? = !awaiting_reply? && !follows?

      def follow(debug: false)
        @follows = true
        @debug = debug
      end

      # Returns true if it follows events of this level.
      def wants?(level) = follows? && (level != :debug || @debug)

      attr_writer :past

      def write_event(line)
        return unless follows?

        @out << line.b
        drop_backlog if @out.bytesize > @limit
        flush unless @waiting
      rescue SystemCallError # the client has gone
        close
      end

      # Writes what can be written now, and closes.
      def finish
        flush
      rescue SystemCallError # the client has gone
        nil
      ensure
        close
      end

      def reply(line)
        return if @socket.closed?

        [line, *@past].each { |one| @out << one.b }
        @past = nil
        @limit += @out.bytesize
        close_when_flushed unless @follows
        flush
      rescue SystemCallError # the client has gone
        close
      end

      def close
        return if @socket.closed?

        [@watch, @timeout].compact.each(&:cancel)
        @socket.close
        @on_close.call(self)
      end

      # In a process forked from the supervisor.
      def close_in_child = @socket.close

      private

      def close_when_flushed
        @closing = true
        @timeout.cancel
        start_timeout
      end

      def start_timeout
        @timeout = @loop.after(TIMEOUT) { close }
      end

      def process(readable, writable)
        error = @guard.call("client", harmless: true) do
          flush if writable
          receive if readable && !@socket.closed?
        rescue SystemCallError # the client has gone
          close
        end
        close if error
      end

      def receive
        return close if @half_closed # only the end can arrive

        bytes = @socket.read_nonblock(CHUNK, exception: false)
        return if bytes == :wait_readable
        return half_close if bytes.nil?
        return close if @requested || @request.bytesize > REQUEST_BYTES

        @request << bytes
        respond if @request.include?("\n")
      end

      # The client has closed its side for writing, and may still read.
      def half_close
        return close if !@requested || gone?

        @half_closed = true
        @watch.read = false
      end

      # Returns true if the client has closed both sides: sending nothing fails then.
      def gone?
        @socket.send("", 0)
        false
      rescue SystemCallError # EPIPE, or ECONNRESET
        true
      end

      def respond
        @requested = true
        @timeout.cancel # the reply may take as long as it takes
        @respond.call(self, @request.lines.first)
      end

      def flush
        written = @out.empty? ? 0 : @socket.write_nonblock(@out, exception: false)
        written = 0 if written == :wait_writable
        @within_line = @out.getbyte(written - 1) != 10 if written.positive?
        @out = @out.byteslice(written..)
        return close if @closing && @out.empty?

        @watch.write = @waiting = !@out.empty?
      end

      # Completes the line that is being written, and drops the others.
      def drop_backlog
        kept = @within_line ? @out.index("\n") + 1 : 0
        missed = @out.byteslice(kept..).count("\n")
        error = "#{missed} events are missed: this follower reads too slowly, ask again"
        @out = @out.byteslice(0, kept) << Control.line(missed:, error:).b
        close_when_flushed
      end
    end
    private_constant :Session
  end
end
