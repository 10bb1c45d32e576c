# frozen_string_literal: true

# The swarm that gets the faults, and the faults that it can get.
#
#   target = TargetSwarm.new(Control::Client.new(path), random)
#   target.connect
#   target.refusal(:hang)                  # => why the swarm can't have this fault, or nil
#   target.inject(:kill, except: pids)     # => Fault, or nil if there was no process for it
#
# A fault concerns a process chosen at random: signals nodes and waiting spares, the other faults of
# nodes, and scale, nodes only. A process is signalled through a pidfd that was opened before the
# check that the process descends from the supervisor. The supervisor is the process that answers at
# the control socket, as the kernel reports it (SO_PEERCRED), and in this process' own pid
# namespace: otherwise nothing begins.
module Skep
  module CLI
    module Chaos
      class TargetSwarm
        KILLS = %i[KILL SEGV TERM].freeze
        STORM = %i[CHLD CONT WINCH URG].freeze # all of them must have no effect
        STORM_SIGNALS = 1_000
        LEAK_BYTES = 32 << 20
        private_constant :KILLS, :STORM, :STORM_SIGNALS, :LEAK_BYTES

        # A spare's id is its label, such as "spare 0".
        Slot = Struct.new(:id, :pid, :state) do
          def node? = id.is_a?(Integer)

          # Returns true if it works or, as a spare, waits.
          def well? = node? ? %w[ready quiet].include?(state) : state == "spare"

          def to_s = node? ? "node #{id}" : id
        end

        attr_reader :name, :supervisor, :feed

        def initialize(query, random)
          @query = query
          @random = random
        end

        # Connects, and finds the supervisor.
        def connect
          @feed = @query.events
          first = @query.local_status
          @name, @supervisor, @scale = first.values_at("name", "pid", "scale")
          @wanted = @scale&.fetch("nodes")
          @pidfd = Skep.pidfd(@supervisor)
        rescue Errno::ESRCH # it ended just now
          raise Failed, "the swarm has ended"
        end

        def close = [@feed, @pidfd].compact.each(&:close)

        # Returns the slots of nodes and spares, with or without a process, as they are now.
        def slots
          @query.status["nodes"].map { |node| Slot.new(*node.values_at("id", "pid", "state")) }
        end

        def refusal(kind)
          case kind
          when :helper
            "swarm #{name} has no helper to kill: leave --helper-rate out" unless helper
          when :scale
            "each work of swarm #{name} has its own number of nodes: leave --scale-rate out" unless
              @scale
          when :hang, :leak then ask("chaos", order: "nothing") && nil
          end
        rescue Failed => e
          "#{e.message}: or leave --#{kind}-rate out"
        end

        def inject(kind, except: [])
          case kind
          when :kill then signal_slot(kind, KILLS.sample(random: @random), except)
          when :stop then signal_slot(kind, :STOP, except)
          when :mold then kill(kind, (molds - except).sample(random: @random))
          when :helper then kill(kind, ([*helper] - except).first)
          when :hang, :leak then order(kind, except)
          when :scale then change_scale
          when :storm then storm
          end
        end

        # Returns true if all works have as many ready nodes as were last asked for.
        def scaled?(slots)
          nodes = slots.select(&:node?)
          first, works = @scale.values_at("nodes", "works")
          @size ||= nodes.size
          nodes.size == @size + ((@wanted - first) * works) && nodes.all?(&:well?)
        end

        # Gives each work its first number of nodes back.
        def undo
          scale(@scale["nodes"]) unless @scale.nil? || @wanted == @scale["nodes"]
        end

        # Returns true if the process runs, and is not stopped.
        def running?(pid) = ours?(pid) && !%w[T t Z X].include?(stat(pid)&.state)

        # Found by their titles; a warm mold may be the child of another. A process that a mold has
        # just forked has that mold's title, and is none.
        def molds
          family.select do |pid|
            title = title(pid)
            title.match?(/ mold \d/) && title(stat(pid)&.parent) != title
          end
        end

        # Ended and not reaped, among the supervisor's and the molds' children.
        def zombies
          [supervisor, *molds].flat_map { |pid| children(pid) }
                              .select { |pid| stat(pid)&.state == "Z" }
        end

        private

        # Sends a command to its control socket; raises Failed with the swarm's error.
        def ask(command, **facts)
          answer = @query.call(command, **facts)
          raise Failed, answer["error"] if answer["error"]

          answer
        end

        def victim(except)
          slots.select { |slot| yield(slot) && !except.include?(slot.pid) }.sample(random: @random)
        end

        def signal_slot(kind, name, except)
          slot = victim(except) { |one| one.well? && one.state != "quiet" } or return
          kill(kind, slot.pid, name, slot.id)
        end

        def kill(kind, pid, name = :KILL, slot = kind.to_s)
          fault = Fault.new(kind:, what: "SIG#{name}", slot:, pid:, at: OS.now)
          fault if pid && signal(pid, name)
        end

        def order(kind, except)
          slot = victim(except) { |one| one.node? && one.state == "ready" } or return
          fault = Fault.new(kind:, what: kind.to_s, slot: slot.id, pid: slot.pid, at: OS.now)
          ask("chaos", node: slot.id, order: kind.to_s, bytes: LEAK_BYTES)
          fault
        end

        # One node of each work more or fewer, at most one away from the first number.
        def change_scale
          first = @scale["nodes"]
          wanted = [first - 1, first, first + 1].reject { |n| n.zero? || n == @wanted }
          fault = Fault.new(kind: :scale, what: "scale", at: OS.now)
          scale(wanted.sample(random: @random))
          fault.tap { fault.what = "scale #{@wanted}" }
        end

        def scale(nodes)
          @size ||= slots.count(&:node?)
          ask("scale", nodes:)
          @wanted = nodes
        end

        def storm
          fault = Fault.new(kind: :storm, what: "#{STORM_SIGNALS} signals", at: OS.now)
          STORM_SIGNALS.times { |number| @pidfd.signal(STORM[number % STORM.size]) }
          @query.status
          fault.recover("its status")
          fault
        rescue Errno::ESRCH # the supervisor has ended
          fault
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

        def helper = family.find { |pid| title(pid).include?(" helper ") }

        def ours?(pid)
          pid = stat(pid)&.parent while pid && pid > 1 && pid != supervisor
          pid == supervisor
        end

        # All that descends from the supervisor.
        def family(from = [supervisor])
          below = from.flat_map { |pid| children(pid) }
          below.empty? ? [] : below + family(below)
        end

        # Returns nil once it is reaped.
        def stat(pid) = OS::ProcessState::Stat.of("/proc/#{pid}/stat")

        def children(pid)
          Dir.glob("task/*/children", base: "/proc/#{pid}")
             .flat_map { |path| read("#{pid}/#{path}").split.map(&:to_i) }
        end

        def title(pid) = read("#{pid}/cmdline").tr("\0", " ")

        # Returns "" once the process has ended.
        def read(path)
          File.binread("/proc/#{path}")
        rescue Errno::ENOENT, Errno::ESRCH
          ""
        end
      end
    end
  end
end
