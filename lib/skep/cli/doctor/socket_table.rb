# frozen_string_literal: true

require "ipaddr"
require "skep/cli/doctor/unix_peers"

module Skep
  module CLI
    class Doctor < Command
      # The kernel's tables of sockets, as a process' network namespace has them.
      #
      #   table = SocketTable.new([2185673], pid: 4242)
      #   socket = table[2185673]                  # nil for one that was never bound or connected
      #   socket.family                            # => "TCP", "UDP" or "UNIX"
      #   socket.state                             # => :connected, :listening or :idle
      #   socket.peer                              # => "127.0.0.1:9092"; of UNIX its path, or nil
      #   socket.peer_inode                        # of a UNIX socket's other end, or nil
      #
      # Source: proc(5), /proc/net/tcp and its like.
      class SocketTable
        Entry = Struct.new(:family, :state, :local, :peer, :inode, :peer_inode,
                           keyword_init: true)
        NETWORKS = { "tcp" => "TCP", "tcp6" => "TCP", "udp" => "UDP", "udp6" => "UDP" }.freeze
        LISTENING, CLOSED = "0A", "07" # TCP_LISTEN, TCP_CLOSE: as UDP has it, not connected.
        ACCEPTS = 0x10000              # __SO_ACCEPTCON
        CONNECTED = 3                  # SS_CONNECTED
        LOOKS = 3
        private_constant :Entry, :NETWORKS, :LISTENING, :CLOSED, :ACCEPTS, :CONNECTED, :LOOKS

        #: (Array[Integer] inodes, pid: Integer) -> void
        def initialize(inodes, pid:)
          @folder = "/proc/#{pid}/net"
          @wanted = inodes.to_h { |inode| [inode.to_s, true] }
          @entries = {}
          @paths = {}
          return if @wanted.empty?

          NETWORKS.each { |file, family| read(file) { |line| network(family, line) } }
          read("unix") { |line| unix(line) }
          find_peers
        end

        #: (Integer? inode) -> Entry?
        def [](inode) = @entries[inode]

        private

        #: (String file) { (String) -> Entry? } -> void
        def read(file)
          File.foreach("#{@folder}/#{file}").drop(1).each do |line|
            entry = yield line.scrub
            @entries[entry.inode] = entry if entry
          end
        rescue Errno::ENOENT, Errno::EACCES, Errno::EINVAL
          nil # No such family in this kernel, or hidden.
        end

        #: (String family, String line) -> Entry?
        def network(family, line)
          _, local, peer, state, _, _, _, _, _, inode = line.split(" ", 11)
          return unless @wanted[inode]

          state = { LISTENING => :listening, CLOSED => :idle }.fetch(state, :connected)
          Entry.new(family:, state:, inode: inode.to_i, local: address(local), peer: address(peer))
        end

        #: (String line) -> Entry?
        def unix(line)
          note(line)
          _, _, _, flags, _, state, inode, path = line.chomp.split(" ", 8)
          return unless @wanted[inode]

          state = state.hex == CONNECTED ? :connected : :idle
          state = :listening if (flags.hex & ACCEPTS).positive?
          Entry.new(family: "UNIX", state:, inode: inode.to_i, local: path)
        end

        #: (String line) -> nil
        def note(line)
          _, _, _, _, _, _, inode, path = line.chomp.split(" ", 8)
          @paths[inode.to_i] = path
          nil
        end

        # The kernel's lists may miss a socket while others come and go: a socket whose peer is
        # missing is looked up again.
        #
        #: () -> void
        def find_peers
          left = @entries.each_value.select { |one| one.family == "UNIX" }
          left.select! { |one| one.state == :connected }
          LOOKS.times do |look|
            break if left.empty? || (peers = UnixPeers.all).empty?

            read("unix") { |line| note(line) } if look.positive?
            left.reject! { |entry| connect(entry, peers[entry.inode]) }
          end
        end

        # Sets the peer and the path that it is bound to; returns false if the peer isn't listed.
        #
        #: (SocketTable::Entry, Integer?) -> bool
        def connect(entry, inode)
          entry.peer_inode = inode
          entry.peer = @paths[inode]
          @paths.key?(inode)
        end

        # "0100007F:1F90", in words of the machine's byte order.
        #
        #: (String) -> String
        def address(text)
          host, port = text.split(":")
          ip = IPAddr.new_ntoh([host].pack("H*").unpack("N*").pack("L*")).to_s
          ip.include?(":") ? "[#{ip}]:#{port.hex}" : "#{ip}:#{port.hex}"
        end
      end
      private_constant :SocketTable
    end
  end
end
