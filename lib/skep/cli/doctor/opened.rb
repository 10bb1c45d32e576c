# frozen_string_literal: true

require "skep/cli/doctor/socket_table"

module Skep
  module CLI
    class Doctor < Command
      # What a process has open.
      #
      #   opened = Opened.new(4242)
      #   opened.kept    # => [{"fd" => 7, "type" => "socket", "what" => "TCP connected to …"}]
      #   opened.locks   # => [{"type" => "FLOCK", "mode" => "write", "file" => "/run/app.pid"}]
      #   opened.count("pipe")
      #
      # Raises as File does for a process that is gone or another user's.
      class Opened
        KINDS = %w[socket eventpoll eventfd inotify fanotify timerfd signalfd io_uring
                   userfaultfd].freeze
        ROLES = { connected: "connected to", listening: "listening at", idle: "at" }.freeze
        private_constant :KINDS, :ROLES

        #: (Integer pid) -> void
        def initialize(pid)
          @pid = pid
        end

        #: (String type) -> Integer
        def count(type) = all.count { |one| one.type == type }

        #: () -> Array[Hash[String, untyped]]
        def kept
          all.select { |one| KINDS.include?(one.type) }.map do |one|
            { "fd" => one.fd, "type" => one.type, "what" => socket(one) || watched(one) }
          end
        end

        #: () -> Array[Hash[String, String]]
        def locks
          all.select { |one| one.type == "file" }.flat_map do |one|
            one.locks.uniq.map do |type, mode|
              { "type" => type, "mode" => mode.downcase, "file" => one.target }
            end
          end.uniq
        end

        private

        #: () -> Array[OS::ProcessState::FileDescriptor]
        def all = @all ||= OS::ProcessState::FileDescriptor.all(@pid)

        #: (OS::ProcessState::FileDescriptor) -> String?
        def socket(descriptor)
          return unless descriptor.type == "socket"

          entry = sockets[descriptor.inode] or return "neither bound nor connected, or not known"
          address = entry.state == :connected ? other_end(entry) : entry.local
          "#{entry.family} #{ROLES.fetch(entry.state)} #{address || "no address"}"
        end

        #: (untyped entry) -> String?
        def other_end(entry)
          return entry.peer if entry.peer

          mine = all.find { |one| entry.peer_inode && one.inode == entry.peer_inode }
          mine ? "its own fd #{mine.fd}" : "a socket without a name"
        end

        #: () -> SocketTable
        def sockets
          inodes = all.select { |one| one.type == "socket" }.filter_map(&:inode)
          @sockets ||= SocketTable.new(inodes, pid: @pid)
        end

        #: (OS::ProcessState::FileDescriptor) -> String
        def watched(descriptor)
          lines = { "eventpoll" => "tfd:", "inotify" => "inotify wd:" }[descriptor.type]
          lines ? "watches #{descriptor.count(lines)}" : ""
        end
      end
      private_constant :Opened
    end
  end
end
