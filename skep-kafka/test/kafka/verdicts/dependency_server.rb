# frozen_string_literal: true

require "json"
require "socket"

module Verdicts
  # The process of Dependency. A host keeps its port while it refuses connections.
  class DependencyServer
    HOSTS = 4
    USUAL = 0.02 # seconds of an answer
    # reserved: keeps the port while nothing listens.
    Host = Struct.new(:reserved, :port, :listener, :mode)
    Request = Struct.new(:host, :socket, :due)

    def initialize(slow)
      @slow = slow
      @hosts = Array.new(HOSTS) { host }
      @clients = {} # by socket: its host
      @requests = []
    end

    def serve(input, output)
      %i[INT TERM].each { |name| trap(name, "IGNORE") } # its owner decides
      output.sync = true
      output.puts(JSON.generate(@hosts.map(&:port)))
      loop do
        readable([input, *@hosts.filter_map(&:listener), *@clients.keys]).each do |io|
          next ask(io) if @clients.key?(io)
          next accept(io) unless io.equal?(input)

          line = input.gets or return
          JSON.parse(line).zip(@hosts) { |mode, host| change(host, mode) }
          output.puts("true")
        end
        answer_due
      end
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def host
      reserved = bound(0)
      port = reserved.local_address.ip_port
      Host.new(reserved, port, listen(port), "answer")
    end

    def bound(port)
      Socket.new(:INET, :STREAM).tap do |socket|
        socket.setsockopt(:SOCKET, :REUSEADDR, true)
        socket.bind(Addrinfo.tcp("127.0.0.1", port))
      end
    end

    def listen(port) = bound(port).tap { |socket| socket.listen(128) }

    def readable(ios)
      first = @requests.filter_map(&:due).min
      IO.select(ios, nil, nil, first && [first - now, 0].max)&.first || []
    end

    def accept(listener)
      host = @hosts.find { |one| listener.equal?(one.listener) } or return # closed meanwhile
      socket, = listener.accept_nonblock(exception: false)
      @clients[socket] = host if socket.is_a?(Socket)
    end

    def ask(socket)
      return unless @clients.key?(socket)
      return close(socket) unless socket.read_nonblock(100, exception: false)

      host = @clients.fetch(socket)
      @requests << Request.new(host, socket, due(host.mode))
    rescue SystemCallError # the client is gone
      close(socket)
    end

    def due(mode)
      case mode
      when "answer" then now + USUAL
      when "slow" then now + @slow
      end
    end

    def answer_due
      due, @requests = @requests.partition { |request| request.due && request.due <= now }
      due.each do |request|
        request.socket.write_nonblock("ok\n", exception: false)
      rescue IOError, SystemCallError # the client is gone
        close(request.socket)
      end
    end

    def change(host, mode)
      host.mode = mode
      mode == "refuse" ? refuse(host) : host.listener ||= listen(host.port)
      mine = @requests.select { |request| request.host.equal?(host) }
      mine.each { |request| request.due = now } if mode == "answer"
    end

    def refuse(host)
      host.listener&.close
      host.listener = nil
      @clients.select { |_, one| one.equal?(host) }.each_key { |socket| close(socket) }
    end

    def close(socket)
      @clients.delete(socket)
      @requests.reject! { |request| request.socket.equal?(socket) }
      socket.close
    end
  end
end
