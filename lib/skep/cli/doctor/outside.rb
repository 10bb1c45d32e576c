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
                       "descriptors" => opened.kept, "files" => opened.count("file"),
                       "pipes" => opened.count("pipe"), "locks" => opened.locks,
                       "memory" => memory, "thp_disabled" => thp_disabled }
        rescue Errno::ENOENT, Errno::ESRCH
          raise Unseen, "there is no process #{@pid}: `ps` lists those there are"
        rescue Errno::EACCES, Errno::EPERM
          raise Unseen, "process #{@pid} is another user's, or the system lets nobody look in: " \
                        "try as that user, or as root"
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
          line.empty? ? "[#{read("comm").chomp}]" : Watch::Redaction.of(line)
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

        #: () -> Opened
        def opened = @opened ||= Opened.new(@pid)

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
