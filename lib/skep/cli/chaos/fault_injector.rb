# frozen_string_literal: true

# Injects one fault of a kind, into a process chosen at random that has no fault pending. Signals go
# to nodes and to waiting spares; the other faults of nodes, and scale, concern nodes only.
#
#   injector = FaultInjector.new(target, random)
#   injector.refusal(:hang)                # => why the swarm can't have this fault, or nil
#   injector.inject(:kill, except: pids)   # => Fault, or nil if there was no process for it
module Skep
  module CLI
    module Chaos
      class FaultInjector
        KILLS = %i[KILL SEGV TERM].freeze
        STORM = %i[CHLD CONT WINCH URG].freeze # all of them must have no effect
        STORM_SIGNALS = 1_000
        LEAK_BYTES = 32 << 20
        private_constant :KILLS, :STORM, :STORM_SIGNALS, :LEAK_BYTES

        def initialize(target, random)
          @target = target
          @random = random
          @nodes, @works = target.scale&.values_at("nodes", "works") || [0, 0]
          @wanted = @nodes
        end

        def refusal(kind)
          case kind
          when :helper
            "swarm #{@target.name} has no helper to kill: leave --helper-rate out" unless
              @target.helper
          when :scale
            "each work of swarm #{@target.name} has its own number of nodes: " \
              "leave --scale-rate out" unless @target.scale
          when :hang, :leak then @target.ask("chaos", order: "nothing") && nil
          end
        rescue Failed => e
          "#{e.message}: or leave --#{kind}-rate out"
        end

        def inject(kind, except: [])
          case kind
          when :kill then signal(kind, KILLS.sample(random: @random), except)
          when :stop then signal(kind, :STOP, except)
          when :mold, :helper then kill_one(kind, except)
          when :hang, :leak then order(kind, except)
          when :scale then scale
          when :storm then storm
          end
        end

        # Returns true if the swarm has as many ready nodes as were last asked for.
        def scaled?
          size = @target.size + ((@wanted - @nodes) * @works)
          @target.nodes.size == size && @target.ready.size == size
        end

        # Gives each work its first number of nodes back.
        def undo
          @target.ask("scale", nodes: @wanted = @nodes) unless @wanted == @nodes
        end

        private

        def victim(except, among: @target.ready)
          among.reject { |node| except.include?(node.pid) }.sample(random: @random)
        end

        def signal(kind, name, except)
          node = victim(except, among: @target.ready + @target.waiting) or return
          at = OS.now
          return unless @target.signal(node.pid, name)

          node.state = "faulty"
          Fault.new(kind, "SIG#{name}", node: node.id, pid: node.pid, at:)
        end

        def kill_one(kind, except)
          pid = kind == :mold ? @target.molds.sample(random: @random) : @target.helper
          at = OS.now
          return if pid.nil? || except.include?(pid) || !@target.signal(pid, :KILL)

          node = "helper" if kind == :helper
          Fault.new(kind, "SIGKILL to the #{kind}", node:, pid:, at:)
        end

        def order(kind, except)
          node = victim(except) or return
          at = OS.now
          @target.ask("chaos", node: node.id, order: kind.to_s, bytes: LEAK_BYTES)
          node.state = "faulty" if kind == :hang
          Fault.new(kind, kind.to_s, node: node.id, pid: node.pid, at:)
        end

        # One node of each work more or fewer, at most one away from the first number.
        def scale
          wanted = [@nodes - 1, @nodes, @nodes + 1].reject { |n| n.zero? || n == @wanted }
          at = OS.now
          @target.ask("scale", nodes: @wanted = wanted.sample(random: @random))
          Fault.new(:scale, "scale #{@wanted}", at:)
        end

        def storm
          at = OS.now
          STORM_SIGNALS.times { |number| @target.pidfd.signal(STORM[number % STORM.size]) }
          fault = Fault.new(:storm, "#{STORM_SIGNALS} signals", at:)
          @target.status
          fault.recover("its status")
          fault
        rescue Errno::ESRCH # the supervisor has ended
          fault
        end
      end
    end
  end
end
