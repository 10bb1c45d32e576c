# frozen_string_literal: true

require "skep/metrics/health_check"

# A client of the metrics' address, within the supervisor's loop. A GET or HEAD of /healthz or
# /readyz is answered here, and the connection closed. A connection with any other request is passed
# on with all of its bytes, which were only peeked at: the helper serves it.
#
#   ProbeSession.new(socket, loop, status: -> { … }, pass: ->(socket) { … },
#                    on_close: ->(session) { … })
#
# status: what HealthCheck reads. pass: returns false if the helper has no room for the client.
# It never blocks. A client that sends nothing, or no whole request, is closed at a deadline.
module Skep
  module Metrics
    class ProbeSession
      REQUEST = %r{\A(GET|HEAD) (/healthz|/readyz)(?:\?(\S*))? HTTP/1\.[01]\r?\n}n
      REQUEST_END = /\r?\n\r?\n/n
      CHUNK = 4096
      REQUEST_BYTES = 16_384
      TIMEOUT = 5.0 # to send a request
      REASONS = { 200 => "OK", 431 => "Request Header Fields Too Large",
                  503 => "Service Unavailable" }.freeze
      private_constant :REQUEST, :REQUEST_END, :CHUNK, :REQUEST_BYTES, :TIMEOUT, :REASONS

      def initialize(socket, loop, status:, pass:, on_close:)
        @socket = socket
        @status, @pass, @on_close = status, pass, on_close
        @received = String.new(encoding: Encoding::BINARY)
        @watch = loop.watch(socket) { receive }
        @timeout = loop.after(TIMEOUT) { close }
      end

      # Reads what has arrived. Most clients have sent their request by the time they are accepted.
      def receive
        @probe ? read : peek
      rescue SystemCallError, IOError # the client has gone
        close
      end

      def close
        return if @socket.closed?

        [@watch, @timeout].each(&:cancel)
        @socket.close
        @on_close.call(self)
      end

      # In a process forked from the supervisor.
      def close_in_child = @socket.close

      private

      # A request line that is not complete is passed on, too: the rest of it wouldn't wake the
      # loop, as what has been peeked at stays readable.
      def peek
        bytes = @socket.recv_nonblock(CHUNK, Socket::MSG_PEEK, exception: false)
        return if bytes == :wait_readable
        return close if bytes.nil? || bytes.empty?

        @probe = REQUEST.match(bytes)
        @probe ? read : pass_on
      end

      def pass_on
        return close if @pass.call(@socket)

        write(503, "the helper, which serves all paths but #{HealthCheck::PATHS.join(" and ")}, " \
                   "doesn't accept requests at the moment")
      end

      def read
        until (bytes = @socket.read_nonblock(CHUNK, exception: false)) == :wait_readable
          return close if bytes.nil?

          @received << bytes
          return answer if @received.match?(REQUEST_END)
          return write(431, "the request is too large") if @received.bytesize > REQUEST_BYTES
        end
      end

      def answer
        _, path, query = @probe.captures
        write(*HealthCheck.answer(path, query.to_s, @status.call))
      end

      # A new connection has room for so little, so that no client is waited for.
      def write(code, sentence)
        body = "#{Redaction.text(sentence)}\n"
        headers = "HTTP/1.1 #{code} #{REASONS.fetch(code)}\r\n" \
                  "content-type: text/plain; charset=utf-8\r\n" \
                  "content-length: #{body.bytesize}\r\nconnection: close\r\n\r\n"
        head = @probe && @probe[1] == "HEAD"
        @socket.write_nonblock(head ? headers : headers + body, exception: false)
        close
      end
    end
    private_constant :ProbeSession
  end
end
