# frozen_string_literal: true

module Skep
  module OS
    class ProcessState
      # An open file descriptor of a process, as Linux lists it.
      #
      #   FileDescriptor.all   # this process'
      #   descriptor.fd        # => 7
      #   descriptor.target    # => "socket:[2185673]", "/var/run/app.pid"
      #   descriptor.type      # => "socket", "pipe", "eventpoll", "inotify", "file", …
      #   descriptor.inode     # => 2185673, of a socket or pipe
      #   descriptor.close_on_exec?
      #
      # For one that was closed meanwhile the details are nil or false.
      # Source: proc(5), /proc/pid/fd and /proc/pid/fdinfo.
      class FileDescriptor
        CLOSE_ON_EXEC = 0o2000000
        private_constant :CLOSE_ON_EXEC

        attr_reader :fd
        attr_reader :target

        # Returns [] without /proc. Raises Errno::EACCES if that is hidden, as after a change of
        # user.
        def self.all(root: "/proc")
          folder = "#{root}/self"
          return [] unless File.directory?("#{folder}/fd")

          Dir.children("#{folder}/fd").map(&:to_i).sort.filter_map { |fd| at(folder, fd) }
        end

        def self.at(folder, fd)
          new(folder, fd, File.readlink("#{folder}/fd/#{fd}").scrub)
        rescue Errno::ENOENT
          nil # Closed since: that of the listing itself for one.
        end
        private_class_method :at

        def initialize(folder, fd, target)
          @folder = folder
          @fd = fd
          @target = target
        end

        def type = target.start_with?("/") ? "file" : target[/\A(?:anon_inode:)?\[?(\w+)/, 1].to_s

        def inode = target[/:\[(\d+)\]\z/, 1]&.to_i

        def close_on_exec? = (flags & CLOSE_ON_EXEC).positive?

        # Counts the lines of fdinfo that begin so: "tfd:" for each descriptor in an epoll set.
        def count(line) = info.scan(/^#{Regexp.escape(line)}/).size

        def to_s = "fd #{fd}"

        private

        def flags = info[/^flags:\s*(\d+)/, 1].to_s.to_i(8)

        def info
          @info ||= File.read("#{@folder}/fdinfo/#{fd}")
        rescue Errno::ENOENT, Errno::EACCES
          @info = "" # Closed since, or hidden.
        end
      end
    end
  end
end
