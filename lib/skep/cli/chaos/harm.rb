# frozen_string_literal: true

# Does harm: one deed of a kind, to somebody chosen at random who isn't suffering already.
#
#   harm = Harm.new(target, random)
#   harm.refusal(:hang)            # => a sentence where the swarm can't be harmed so, or nil
#   harm.do(:kill, sparing: pids)  # => Deed, or nil where there was nobody to do it to
module Skep
  module CLI
    class Chaos
      class Harm
        KILLS = %i[KILL SEGV TERM].freeze
        STORM = %i[CHLD CONT WINCH URG].freeze # their answer is that nothing happens
        STORM_SIGNALS = 1_000
        LEAK_BYTES = 32 << 20
        private_constant :KILLS, :STORM, :STORM_SIGNALS, :LEAK_BYTES

        def initialize(target, random) #: (Target, Random) -> void
          @target = target
          @random = random
          @scale = target.nodes.map(&:id).uniq.size
          @asked = @scale
        end

        def refusal(kind) #: (Symbol) -> String?
          case kind
          when :helper
            "swarm #{@target.name} has no helper to kill: leave --helper-rate out" unless
              @target.helper
          when :hang, :leak then @target.ask("chaos", order: "nothing") && nil
          end
        rescue Failed => e
          "#{e.message}: or leave --#{kind}-rate out"
        end

        def do(kind, sparing: []) #: (Symbol, ?sparing: Array[Integer]) -> Deed?
          case kind
          when :kill then signal(kind, KILLS.sample(random: @random), sparing)
          when :stop then signal(kind, :STOP, sparing)
          when :mold, :helper then end_one(kind, sparing)
          when :hang, :leak then order(kind, sparing)
          when :scale then scale
          when :storm then storm
          end
        end

        # Is it so large as it was told to be?
        def scaled? = @target.nodes.size == @asked && @target.ready.size == @asked #: () -> bool

        # As large as it was.
        def undo #: () -> void
          @target.ask("scale", nodes: @asked = @scale) unless @asked == @scale
        end

        private

        def victim(sparing)
          @target.ready.reject { |node| sparing.include?(node.pid) }.sample(random: @random)
        end

        def signal(kind, name, sparing)
          node = victim(sparing) or return
          at = OS.now
          return unless @target.signal(node.pid, name)

          node.state = "harmed"
          Deed.new(kind, "SIG#{name}", node: node.id, pid: node.pid, at:)
        end

        def end_one(kind, sparing)
          pid = kind == :mold ? @target.molds.sample(random: @random) : @target.helper
          at = OS.now
          return if pid.nil? || sparing.include?(pid) || !@target.signal(pid, :KILL)

          node = "helper" if kind == :helper
          Deed.new(kind, "SIGKILL to the #{kind}", node:, pid:, at:)
        end

        def order(kind, sparing)
          node = victim(sparing) or return
          at = OS.now
          @target.ask("chaos", node: node.id, order: kind.to_s, bytes: LEAK_BYTES)
          node.state = "harmed" if kind == :hang
          Deed.new(kind, kind.to_s, node: node.id, pid: node.pid, at:)
        end

        # One more or one less, never far from where it was.
        def scale
          wanted = [@scale - 1, @scale, @scale + 1].reject { |n| n.zero? || n == @asked }
          at = OS.now
          @target.ask("scale", nodes: @asked = wanted.sample(random: @random))
          Deed.new(:scale, "scale #{@asked}", at:)
        end

        def storm
          at = OS.now
          STORM_SIGNALS.times { |number| @target.pidfd.signal(STORM[number % STORM.size]) }
          deed = Deed.new(:storm, "#{STORM_SIGNALS} signals", at:)
          @target.status
          deed.answer("its status")
          deed
        rescue Errno::ESRCH # the supervisor has ended
          deed
        end
      end
      private_constant :Harm
    end
  end
end
