# frozen_string_literal: true

require "json"
require "socket"

# The status socket: a UNIX socket (mode 0600)
# that answers within the supervisor's loop and never blocks it.
#
#   {"v":1,"command":"status"}\n      # asked: one line of JSON
#   {"v":1,"status":{…}}\n            # answered: one line, then it closes
#
# Commands: status, stop, quiet, backtraces. A client that says nothing, reads nothing or says too
# much is closed at a deadline or at a limit, and costs the swarm nothing.
module Skep
  module Watch
    class Status < Swarm::Observer
      VERSION = 1
      REQUEST_BYTES = 65_536
      SECONDS = 5.0
      CLIENTS = 64
      COMMANDS = %w[stop quiet backtraces].freeze
      private_constant :REQUEST_BYTES, :SECONDS, :CLIENTS, :COMMANDS

      # One client: what it has said, and what it has yet to read.
      Client = Struct.new(:socket, :watch, :timer, :request, :answer)
      private_constant :Client

      class Unusable < Skep::Error
        def initialize(path:, error:)
          super("the status socket #{path} can't be made, #{error}: name another with control:")
        end
      end

      def configured(supervisor) #: (Swarm::Supervisor) -> void
        @supervisor = supervisor
        @clients = []
        @path = supervisor.config.control_path
        @server = listen
        supervisor.loop.watch(@server) { accept }
      end

      def disown = @server && [@server, *@clients.map(&:socket)].each(&:close) #: () -> void

      def closed #: () -> void
        return unless @server

        @clients.dup.each { |client| drop(client) }
        File.unlink(@path) if File.socket?(@path)
        @server.close
      end

      private

      def listen
        File.unlink(@path) if File.socket?(@path) # a leftover: we hold the name's lease
        before = File.umask(0o177)
        UNIXServer.new(@path)
      rescue SystemCallError, ArgumentError => e # ArgumentError: longer than a socket's may be
        raise Unusable.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      ensure
        File.umask(before) if before
      end

      def accept
        socket = @server.accept_nonblock(exception: false)
        return if socket == :wait_readable
        return socket.close if @clients.size >= CLIENTS

        serve(socket)
      rescue SystemCallError # the client has gone, or no descriptor is left: it may try again
        nil
      end

      def serve(socket)
        client = Client.new(socket, nil, nil, String.new, nil)
        client.watch = @supervisor.loop.watch(socket) do |readable, writable|
          turn(client, readable, writable)
        end
        client.timer = @supervisor.loop.after(SECONDS) { drop(client) }
        @clients << client
      end

      def turn(client, readable, writable)
        return answer(client) if writable && client.answer

        hear(client) if readable
      rescue StandardError # the client has gone, or it asked for what can't be told
        drop(client) # the swarm must not care
      end

      def hear(client)
        bytes = client.socket.read_nonblock(REQUEST_BYTES, exception: false)
        return if bytes == :wait_readable
        # A client that has closed may still read.
        return client.answer ? client.watch.read = false : drop(client) if bytes.nil?
        return drop(client) if client.answer || client.request.bytesize > REQUEST_BYTES

        client.request << bytes
        begin_answer(client) if client.request.include?("\n")
      end

      def begin_answer(client)
        facts = { v: VERSION, **respond(client.request) }
        client.answer = "#{JSON.generate(facts, max_nesting: 0)}\n".b
        answer(client)
      end

      def answer(client)
        written = client.socket.write_nonblock(client.answer, exception: false)
        return client.watch.write = true if written == :wait_writable

        client.answer = client.answer.byteslice(written..)
        client.answer.empty? ? drop(client) : client.watch.write = true
      end

      def respond(request)
        command = JSON.parse(request.lines.first)["command"]
        return { status: Redaction.of(@supervisor.snapshot) } if command == "status"
        unless COMMANDS.include?(command)
          return { error: "there is no command #{command.inspect}: " \
                          "there are status, #{COMMANDS.join(', ')}" }
        end

        @supervisor.loop.after(0) { @supervisor.public_send(command) }
        { done: command }
      rescue JSON::ParserError, TypeError, NoMethodError
        { error: "a request is one line of JSON, such as {\"v\":1,\"command\":\"status\"}" }
      end

      def drop(client)
        return unless @clients.delete(client)

        [client.watch, client.timer].each(&:cancel)
        client.socket.close
      end
    end
  end
end
