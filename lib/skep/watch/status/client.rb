# frozen_string_literal: true

# One client of the status socket: hears one line, writes what it is to read, and closes. One that
# follows is written to until it goes, or until it reads too slowly.
#
#   client = Client.new(socket, loop, ended: ->(client) { … }) { |client, request| … }
#   client.reply("an answer\n")   # in that block, or whenever it is known
#   client.follow                 # called while it is answered: it stays
#   client.put(line)              # false once it is of no use to put more
#   client.close
#
# It never blocks: past BACKLOG bytes that aren't read a follower gets no more but a last line that
# tells how many it has missed.
module Skep
  module Watch
    class Status
      class Client
        REQUEST_BYTES = 65_536
        PIECE = 4096
        BACKLOG = 1024 * 1024
        SECONDS = 5.0 # to ask, and to read an answer
        private_constant :REQUEST_BYTES, :PIECE, :BACKLOG, :SECONDS

        #: (UNIXSocket, OS::EventLoop, ended: ^(Client) -> void)
        #:   { (Client, String) -> void } -> void
        def initialize(socket, loop, ended:, &respond)
          @socket = socket
          @loop = loop
          @ended = ended
          @respond = respond
          @request = String.new
          @out = String.new(encoding: Encoding::BINARY)
          @watch = loop.watch(socket) { |readable, writable| turn(readable, writable) }
          give_time
        end

        def follows? = @follows && !@leaving #: () -> bool

        # It has asked, and has no answer yet.
        def waits? = @answered && !@follows && !@leaving #: () -> bool

        # It neither waits for an answer nor follows: it may be closed.
        def idle? = !waits? && !follows? #: () -> bool

        def dump(state_file) #: (Swarm::Rollout::Upgrade::StateFile) -> Hash[String, untyped]
          { "socket" => state_file.lend(@socket), "request" => [@request].pack("m0"),
            "out" => [@out].pack("m0"), "answered" => @answered, "follows" => @follows,
            "leaving" => @leaving }
        end

        def restore(plain) #: (Hash[String, untyped]) -> self
          @request << plain["request"].unpack1("m0")
          @out << plain["out"].unpack1("m0")
          @answered, @follows, @leaving = plain.values_at("answered", "follows", "leaving")
          @timer.cancel if @answered && !@leaving
          @watch.write = @waiting = !@out.empty?
          self
        end

        # It stays after the answer.
        def follow = @follows = true #: () -> void

        # A line for a follower.
        def put(line) #: (String) -> void
          return unless follows?

          @out << line.b
          fall_behind if @out.bytesize > BACKLOG
          write unless @waiting
        rescue SystemCallError # it has gone
          close
        end

        # Writes what can be written now, and closes.
        def finish #: () -> void
          write
        rescue SystemCallError # it has gone
          nil
        ensure
          close
        end

        # Its answer, at once or later.
        def reply(line) #: (String) -> void
          return if @socket.closed?

          @out << line.b
          leave unless @follows
          write
        rescue SystemCallError # it has gone
          close
        end

        def close #: () -> void
          return if @socket.closed?

          [@watch, @timer].compact.each(&:cancel)
          @socket.close
          @ended.call(self)
        end

        # In a process forked from the supervisor.
        def disown = @socket.close #: () -> void

        private

        def leave
          @leaving = true
          @timer.cancel
          give_time
        end

        def give_time
          @timer = @loop.after(SECONDS) { close }
        end

        def turn(readable, writable)
          write if writable
          hear if readable && !@socket.closed?
        rescue StandardError # it has gone, or it asked for what can't be told
          close # the swarm must not care
        end

        def hear
          return close if @deaf # what is left to hear is its end

          bytes = @socket.read_nonblock(PIECE, exception: false)
          return if bytes == :wait_readable
          return closed_its_side if bytes.nil?
          return close if @answered || @request.bytesize > REQUEST_BYTES

          @request << bytes
          answer if @request.include?("\n")
        end

        # It may still read.
        def closed_its_side
          return close if !@answered || gone?

          @deaf = true
          @watch.read = false
        end

        # Both of its sides: sending nothing is refused then.
        def gone?
          @socket.send("", 0)
          false
        rescue SystemCallError # EPIPE, or ECONNRESET
          true
        end

        def answer
          @answered = true
          @timer.cancel # it waits for its answer as long as it likes
          @respond.call(self, @request.lines.first)
        end

        def write
          written = @out.empty? ? 0 : @socket.write_nonblock(@out, exception: false)
          written = 0 if written == :wait_writable
          @within_line = @out.getbyte(written - 1) != 10 if written.positive?
          @out = @out.byteslice(written..)
          return close if @leaving && @out.empty?

          @watch.write = @waiting = !@out.empty?
        end

        # The line it is reading is finished, the others are missed.
        def fall_behind
          kept = @within_line ? @out.index("\n") + 1 : 0
          missed = @out.byteslice(kept..).count("\n")
          @out = @out.byteslice(0, kept) << Status.line(missed:, error: late(missed)).b
          leave
        end

        def late(missed) = "#{missed} events are missed: this follower reads too slowly, ask again"
      end
      private_constant :Client
    end
  end
end
