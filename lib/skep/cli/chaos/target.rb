# frozen_string_literal: true

# The swarm that is harmed: who its processes are, as its status and its events tell.
#
#   target = Target.new(Watch::Query.new(path))
#   target.hear(event)
#   target.ready              # => [Node, …], those that work
#   target.signal(pid, :KILL) # true, if that process is the swarm's and was there
#   target.supervisor         # its pid
#
# A process is signalled through a pidfd that was opened before it was made sure that it is the
# swarm's: it descends from the supervisor. That is the process which answers at the status socket,
# as the kernel tells (SO_PEERCRED), and in this process' own pid namespace: else nothing begins.
module Skep
  module CLI
    class Chaos
      class Target
        Node = Struct.new(:id, :pid, :state)

        attr_reader :name #: String
        attr_reader :supervisor #: Integer
        attr_reader :feed #: Watch::Feed
        attr_reader :pidfd #: OS::Pidfd, the supervisor's

        def initialize(query) #: (Watch::Query) -> void
          @query = query
          @nodes = {}
        end

        # From here on its events come.
        def open #: () -> void
          @feed = @query.follow
          first = @query.status_here
          @name, @supervisor = first.values_at("name", "pid")
          @pidfd = Skep.pidfd(@supervisor)
          first["nodes"].each { |node| note(*node.values_at("id", "pid", "state")) }
        rescue Errno::ESRCH # it ended just now
          raise Failed, "the swarm has ended"
        end

        def close = [@feed, @pidfd].compact.each(&:close) #: () -> void
        def status = @query.status #: () -> Hash[String, untyped]

        # A command over its status socket; raises Failed with what it says against it.
        def ask(command, **facts) #: (String, **untyped) -> Hash[String, untyped]
          answer = @query.ask(command, **facts)
          raise Failed, answer["error"] if answer["error"]

          answer
        end

        def hear(event) #: (Hash[String, untyped]) -> void
          id, pid = event.values_at("node", "pid")
          return if id.nil? || pid.nil?

          case event["event"]
          when "node_forked" then note(id, pid, "booting")
          when "node_ready" then note(id, pid, "ready")
          when "node_died", "node_exited" then @nodes.delete(pid)
          end
        end

        def ready #: () -> Array[Node]
          nodes.select { |node| node.state == "ready" }
        end

        # Those that work, or will.
        def nodes = @nodes.values.reject { |node| node.id == "helper" } #: () -> Array[Node]

        # Has a node that was stopped been let go on?
        def resumed?(pid) #: (Integer) -> bool
          node = @nodes[pid]
          return false if node.nil? || !ours?(pid) || %w[T t Z X].include?(stat(pid)&.first)

          node.state = "ready"
          true
        end

        # By their titles; a warm one may be the child of another.
        def molds #: () -> Array[Integer]
          family.select { |pid| title(pid).match?(/ mold \d/) }
        end

        def helper #: () -> Integer?
          family.find { |pid| title(pid).include?(" helper ") }
        end

        # Ended and not reaped, among the supervisor's and the molds' children.
        def zombies #: () -> Array[Integer]
          [supervisor, *molds].flat_map { |pid| children(pid) }
                              .select { |pid| stat(pid)&.first == "Z" }
        end

        def signal(pid, name) #: (Integer, Symbol) -> bool
          pidfd = Skep.pidfd(pid)
          return false unless ours?(pid)

          pidfd.signal(name)
          true
        rescue Errno::ESRCH # it went by itself first
          false
        rescue Errno::EPERM
          raise Failed, "process #{pid} is another user's: be root, or who runs the swarm"
        ensure
          pidfd&.close
        end

        private

        def note(id, pid, state)
          @nodes[pid] = Node.new(id, pid, state) if pid
        end

        def ours?(pid)
          pid = stat(pid)&.last while pid && pid > 1 && pid != supervisor
          pid == supervisor
        end

        # All that descends from the supervisor.
        def family(from = [supervisor])
          below = from.flat_map { |pid| children(pid) }
          below.empty? ? [] : below + family(below)
        end

        # A process' state and parent; nil once it is reaped.
        def stat(pid)
          state, parent = File.binread("/proc/#{pid}/stat").match(/\) (\S) (\d+)/)&.captures
          [state, parent.to_i]
        rescue Errno::ENOENT, Errno::ESRCH
          nil
        end

        def children(pid)
          Dir.glob("/proc/#{pid}/task/*/children")
             .flat_map { |path| File.read(path).split.map(&:to_i) }
        rescue Errno::ENOENT, Errno::ESRCH # a thread of its has ended meanwhile
          []
        end

        def title(pid)
          File.binread("/proc/#{pid}/cmdline").tr("\0", " ")
        rescue Errno::ENOENT, Errno::ESRCH
          ""
        end
      end
      private_constant :Target
    end
  end
end
