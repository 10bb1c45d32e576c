# frozen_string_literal: true

require "io/wait"
require "socket"

module Verdicts
  # A node's connections to the dependency.
  #
  #   pool = ConnectionPool.new(ports, size: 4)
  #   pool.ask(host) # => "ok\n"; ConnectionPool::Exhausted if none is free for TIMEOUT seconds
  #   pool.drain     # nobody gives back what is taken
  class ConnectionPool
    TIMEOUT = 0.5

    class Exhausted < StandardError
    end

    def initialize(ports, size:)
      @ports = ports
      @free = Array.new(size) { {} } # sockets by host, opened at their first use
      @lock, @returned = Mutex.new, ConditionVariable.new
    end

    def ask(host)
      sockets = checkout
      begin
        sockets[host] ||= TCPSocket.new("127.0.0.1", @ports.fetch(host))
        sockets[host].write("?\n")
        sockets[host].gets || raise(EOFError, "host #{host} has closed the connection")
      rescue StandardError
        sockets.delete(host)&.close
        raise
      ensure
        give_back(sockets)
      end
    end

    def drain
      @lock.synchronize do
        @drained = true
        @free.clear
      end
    end

    def close = @lock.synchronize { @free.each { |sockets| sockets.each_value(&:close) } }

    private

    def checkout
      deadline = now + TIMEOUT
      @lock.synchronize do
        while @free.empty?
          left = deadline - now
          raise Exhausted, "no connection was free for #{TIMEOUT} s" unless left.positive?

          @returned.wait(@lock, left)
        end
        @free.pop
      end
    end

    def give_back(sockets)
      @lock.synchronize do
        @free.push(sockets) unless @drained
        @returned.signal
      end
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
