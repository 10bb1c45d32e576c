# frozen_string_literal: true

require "socket"

# Holds a swarm's name where there can be no lock file, as the name of an abstract socket: only one
# socket can have it. The kernel releases it when the supervisor dies. It is the control socket,
# too.
#
#   lock = AbstractNameLock.new("billing").take   # or raises NameTaken
#   lock.server      # => UNIXServer; nil for `listen: false`, and if the name isn't held
#   lock.held?       # => false on a system without such sockets, and if another user has the name
#   lock.path        # => "@skep/4026531836/10001/billing.sock"
module Skep
  class Swarm
    class Supervisor
      class AbstractNameLock
        AbstractSocket = Definition::AbstractSocket
        private_constant :AbstractSocket

        attr_reader :path

        def initialize(name, listen: true)
          @path = AbstractSocket.path(name)
          @listen = listen
        end

        def take
          @socket = @listen ? listening : bound
          self
        rescue Errno::EADDRINUSE
          pid = holder
          raise NameLock::NameTaken.new(path:, pid: pid.positive? ? pid : nil) if pid

          self
        rescue SystemCallError, ArgumentError # not on this system; or the name is too long
          self
        end

        def held? = !@socket.nil?
        def server = @listen ? @socket : nil

        # As NameLock has them. Nothing can take this name away.
        def restore = held?
        def close_in_child = @socket&.close
        def release = @socket&.close

        private

        def listening = UNIXServer.new("\0#{@path.delete_prefix("@")}")

        def bound
          socket = Socket.new(:UNIX, :STREAM)
          socket.bind(AbstractSocket.sockaddr(@path))
          socket
        rescue SystemCallError
          socket&.close
          raise
        end

        # Returns the pid of the swarm that has the name, 0 if that is unknown; nil if it is another
        # user's socket.
        def holder
          Socket.open(:UNIX, :STREAM) do |socket|
            socket.connect_nonblock(AbstractSocket.sockaddr(@path))
            next unless AbstractSocket.trusted?(socket)

            socket.getsockopt(:SOCKET, :PEERCRED).unpack("l").first
          end
        rescue SystemCallError # it doesn't listen, or its queue is full
          0
        end
      end
    end
  end
end
