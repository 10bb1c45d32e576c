# frozen_string_literal: true

# The swarm that gets the faults: its processes, as its status and its events report them.
#
#   target = TargetSwarm.new(Control::Client.new(path))
#   target.observe(event)
#   target.ready              # => [Node, …], those that work
#   target.waiting            # => [Node, …], the spares that wait for a slot
#   target.signal(pid, :KILL) # returns true if that process is the swarm's and existed
#   target.supervisor         # its pid
#
# A process is signalled through a pidfd that was opened before the check that the process descends
# from the supervisor. The supervisor is the process that answers at the control socket, as the
# kernel reports it (SO_PEERCRED), and in this process' own pid namespace: otherwise nothing begins.
module Skep
  module CLI
    module Chaos
      class TargetSwarm
        # A spare's id is its label, such as "spare 0", until it steps in.
        Node = Struct.new(:id, :pid, :state) do
          def spare? = id.to_s.start_with?("spare ")

          # Returns true if it works or, as a spare, waits.
          def well? = spare? ? state == "spare" : %w[ready quiet].include?(state)

          def to_s = spare? ? id : "node #{id}"
        end

        attr_reader :name, :supervisor, :feed

        # What `skep scale` changes, as in the status, and the number of all nodes' slots.
        attr_reader :scale, :size

        # The supervisor's.
        attr_reader :pidfd

        def initialize(query)
          @query = query
          @nodes = {}
        end

        # Connects and reads the swarm's processes.
        def connect
          @feed = @query.events
          first = @query.local_status
          @name, @supervisor, @scale = first.values_at("name", "pid", "scale")
          @pidfd = Skep.pidfd(@supervisor)
          slots = listed(first)
          @spares = slots.count(&:spare?)
          @size = slots.size - @spares
          slots.each { |node| @nodes[node.pid] = node if node.pid }
        rescue Errno::ESRCH # it ended just now
          raise Failed, "the swarm has ended"
        end

        def close = [@feed, @pidfd].compact.each(&:close)
        def status = @query.status

        # Returns the nodes and spares in a status, with or without a process.
        def listed(status)
          status["nodes"].map { |node| Node.new(*node.values_at("id", "pid", "state")) }
        end

        # Sends a command to its control socket; raises Failed with the swarm's error.
        def ask(command, **facts)
          answer = @query.call(command, **facts)
          raise Failed, answer["error"] if answer["error"]

          answer
        end

        def observe(event)
          id, pid = event.values_at("node", "pid")
          return if id.nil? || pid.nil?

          case event["event"]
          when "node_forked", "spare_stepped_in" then note(id, pid, "booting")
          when "spare_ready" then note(id, pid, "spare")
          when "node_ready" then note(id, pid, "ready")
          when "node_died", "node_exited" then @nodes.delete(pid)
          end
        end

        def ready
          nodes.select { |node| node.state == "ready" }
        end

        # Those that work or will work in a node's slot.
        def nodes = @nodes.values.select { |node| node.id.is_a?(Integer) }

        def waiting
          @nodes.values.select { |node| node.spare? && node.state == "spare" }
        end

        # Returns true if each spare's slot has a process that waits.
        def spares_complete? = waiting.map(&:id).uniq.size == @spares

        # Returns true if a node or spare that was stopped has been continued.
        def continued?(pid)
          node = @nodes[pid]
          return false if node.nil? || !ours?(pid) || %w[T t Z X].include?(stat(pid)&.first)

          node.state = node.spare? ? "spare" : "ready"
          true
        end

        # Found by their titles; a warm mold may be the child of another. A process that a mold has
        # just forked has that mold's title, and is none.
        def molds
          family.select do |pid|
            title = title(pid)
            title.match?(/ mold \d/) && title(stat(pid)&.last) != title
          end
        end

        def helper
          family.find { |pid| title(pid).include?(" helper ") }
        end

        # Ended and not reaped, among the supervisor's and the molds' children.
        def zombies
          [supervisor, *molds].flat_map { |pid| children(pid) }
                              .select { |pid| stat(pid)&.first == "Z" }
        end

        def signal(pid, name)
          pidfd = Skep.pidfd(pid)
          return false unless ours?(pid)

          pidfd.signal(name)
          true
        rescue Errno::ESRCH # it has ended already
          false
        rescue Errno::EPERM
          raise Failed, "process #{pid} is another user's: run this as root or as that user"
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

        # A process' state and parent, nil once it is reaped.
        def stat(pid)
          state, parent = File.binread("/proc/#{pid}/stat").match(/\) (\S) (\d+)/)&.captures
          [state, parent.to_i]
        rescue Errno::ENOENT, Errno::ESRCH
          nil
        end

        def children(pid)
          Dir.glob("/proc/#{pid}/task/*/children")
             .flat_map { |path| File.read(path).split.map(&:to_i) }
        rescue Errno::ENOENT, Errno::ESRCH # one of its threads has ended meanwhile
          []
        end

        def title(pid)
          File.binread("/proc/#{pid}/cmdline").tr("\0", " ")
        rescue Errno::ENOENT, Errno::ESRCH
          ""
        end
      end
    end
  end
end
