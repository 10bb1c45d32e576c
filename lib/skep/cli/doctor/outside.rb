# frozen_string_literal: true

module Skep
  module CLI
    class Doctor < Command
      # What a running process shows to others: threads, descriptors, locks, memory.
      #
      #   outside = Outside.new(4242)
      #   outside.facts      # => {"pid" => 4242, "threads" => [{"tid", "name"}], …}
      #   puts outside.to_s(100)
      #
      # It can't tell whose a thread is and what Ruby holds: only the process itself can. Raises
      # Unseen for one that is gone, has ended or is another user's. Source: proc(5).
      class Outside
        KINDS = %w[socket eventpoll eventfd inotify fanotify timerfd signalfd io_uring
                   userfaultfd].freeze
        ROLES = { connected: "connected to", listening: "listening at", idle: "at" }.freeze
        private_constant :KINDS, :ROLES

        class Unseen < Skep::Error
        end

        #: (Integer pid) -> void
        def initialize(pid)
          @pid = pid
          raise Unseen, "a pid is a positive number, not #{pid}" unless pid.positive?
          raise Unseen, "there is no /proc here to look in" unless File.exist?("/proc/self")
        end

        # As plain data; `bytes` all memory.
        #
        #: () -> Hash[String, untyped]
        def facts
          @facts ||= { "pid" => @pid, "command" => command, "skep" => skep?, "threads" => threads,
                       "descriptors" => kept, "files" => all.count { |one| one.type == "file" },
                       "pipes" => all.count { |one| one.type == "pipe" }, "locks" => locks,
                       "memory" => memory, "thp_disabled" => thp_disabled }
        rescue Errno::ENOENT, Errno::ESRCH
          raise Unseen, "there is no process #{@pid}: `ps` lists those there are"
        rescue Errno::EACCES, Errno::EPERM
          raise Unseen, "process #{@pid} is another user's: look at it as that user, or as root"
        end

        #: (Integer width) -> String
        def to_s(width)
          sections = [head, table(%w[tid thread], rows("threads")),
                      table(%w[fd what which], rows("descriptors")),
                      table(%w[lock mode file], rows("locks"))]
          sections.compact.map { |one| one.is_a?(Table) ? one.to_s(width) : one }.join("\n\n")
        end

        private

        #: () -> String
        def head
          bytes = facts["memory"]
          ["pid #{@pid}: #{facts["command"]}#{" (a process of skep's)" if facts["skep"]}",
           "memory: #{bytes.map { |name, size| "#{name} #{megabytes(size)}" }.join(", ")}" \
           "#{"; huge pages are switched off for it" if facts["thp_disabled"]}",
           "also open: #{facts["files"]} files, #{facts["pipes"]} pipes' ends"].join("\n")
        end

        #: (Integer) -> String
        def megabytes(bytes) = format("%.1f MB", bytes / 1e6)

        #: (Array[String], Array[Array[untyped]]) -> Table?
        def table(head, rows) = rows.any? ? Table.new(head, rows) : nil

        #: (String) -> Array[Array[untyped]]
        def rows(name) = facts[name].map(&:values)

        #: () -> String
        def command
          line = read("cmdline").tr("\0", " ").strip
          line.empty? ? "[#{read("comm").chomp}]" : line
        end

        # By the title that skep gives its processes, or by its C.
        #
        #: () -> bool
        def skep?
          command.match?(/\Askep \S+ (?:supervisor|mold|node|spare|helper)\b/) ||
            read("maps").include?("/skep_ext.so")
        end

        #: () -> Array[Hash[String, untyped]]
        def threads
          Dir.children("/proc/#{@pid}/task").map(&:to_i).sort.filter_map do |tid|
            { "tid" => tid, "name" => read("task/#{tid}/comm").chomp }
          rescue Errno::ENOENT, Errno::ESRCH
            next # It has ended since.
          end
        end

        #: () -> Array[Skep::Fork::Guard::Descriptor]
        def all = @all ||= Skep::Fork::Guard::Descriptor.all(@pid)

        #: () -> Array[Hash[String, untyped]]
        def kept
          all.select { |one| KINDS.include?(one.type) }.map do |one|
            { "fd" => one.fd, "type" => one.type, "what" => socket(one) || watched(one) }
          end
        end

        #: (Skep::Fork::Guard::Descriptor) -> String?
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

        #: () -> Skep::Fork::Guard::SocketTable
        def sockets
          inodes = all.select { |one| one.type == "socket" }.filter_map(&:inode)
          @sockets ||= Skep::Fork::Guard::SocketTable.new(inodes, pid: @pid)
        end

        #: (Skep::Fork::Guard::Descriptor) -> String
        def watched(descriptor)
          lines = { "eventpoll" => "tfd:", "inotify" => "inotify wd:" }[descriptor.type]
          lines ? "watches #{descriptor.count(lines)}" : ""
        end

        #: () -> Array[Hash[String, String]]
        def locks
          all.select { |one| one.type == "file" }.flat_map do |one|
            one.locks.uniq.map do |type, mode|
              { "type" => type, "mode" => mode.downcase, "file" => one.target }
            end
          end.uniq
        end

        #: () -> Hash[String, Integer]
        def memory
          memory = OS::Memory.of(@pid) or raise Unseen, "process #{@pid} #{without_memory}"
          { **memory.to_h.transform_keys(&:to_s), "huge" => OS::Memory.huge_bytes(@pid).to_i }
        end

        #: () -> String
        def without_memory
          return "is the kernel's own" unless read("status").match?(/^State:\s*Z/)

          "has ended, and waits for its parent to reap it"
        end

        # Nil where the kernel doesn't tell.
        #
        #: () -> bool?
        def thp_disabled
          enabled = read("status")[/^THP_enabled:\s*(\d)/, 1]
          enabled && enabled == "0"
        end

        #: (String) -> String
        def read(name) = File.read("/proc/#{@pid}/#{name}").scrub
      end
      private_constant :Outside
    end
  end
end
