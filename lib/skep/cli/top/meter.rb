# frozen_string_literal: true

require "etc"

# What has to be seen twice to be known: the processor's time that nodes take, by /proc as this
# process sees it, and their rates of work where they don't tell them.
#
#   meter = Meter.new
#   figures = meter.take(status, OS.now, pids: true)
#   figures.cpu[3]     # => percent of one processor since the last look, nil: not known
#   figures.rate[3]    # => what node 3 gets done in a second
#   figures.memory     # => the supervisor's own, in bytes
#
# pids: are the swarm's pids those of this process' /proc? They aren't where it runs in another
# container. Source: proc(5), of /proc/PID/stat.
module Skep
  module CLI
    class Top < Command
      class Meter
        Reading = Struct.new(:cpu, :rate, :memory)
        WINDOW = 5.0 # seconds that a rate is of
        USER, SYSTEM, BEGUN = 11, 12, 19 # fields, counted from the state
        private_constant :WINDOW, :USER, :SYSTEM, :BEGUN

        def initialize(hertz: Etc.sysconf(Etc::SC_CLK_TCK)) #: (?hertz: Integer) -> void
          @hertz = hertz
          @ticks = {}
          @done = {}
        end

        def take(status, now, pids:) #: (Hash[String, untyped], Float, pids: bool) -> Figures
          nodes = status["nodes"]
          live = nodes.select { |node| node["pid"] }
          Reading.new(pids ? cpu(live, now) : {}, rates(nodes, now),
                      pids ? own_memory(status["pid"]) : nil)
        end

        private

        # A pid that is another process' by now has another beginning.
        def cpu(nodes, now)
          before, @ticks = @ticks, {}
          nodes.to_h do |node|
            spent, begun = look(node["pid"])
            @ticks[[node["pid"], begun]] = [spent, now] if spent
            was, at = before[[node["pid"], begun]]
            [node["id"], was && spent && (100.0 * (spent - was) / @hertz / (now - at))]
          end
        end

        def look(pid)
          text = OS::ProcessState.read("/proc/#{pid}/stat") or return
          fields = text[(text.rindex(")") + 2)..].split
          [fields[USER].to_i + fields[SYSTEM].to_i, fields[BEGUN]]
        end

        def own_memory(pid)
          OS::Memory.of(pid)&.uss
        rescue SystemCallError # another user's
          nil
        end

        def rates(nodes, now)
          keys = nodes.map { |node| node.values_at("id", "pid") }
          @done.keep_if { |key, _| keys.include?(key) }
          nodes.to_h do |node|
            told = node["work"]["rate"]
            [node["id"], told.is_a?(Numeric) ? told : seen(node, now)]
          end
        end

        # Of what is done by who works.
        def seen(node, now)
          return unless node["pid"] && node["work"]["done"].is_a?(Integer)

          looks = @done[node.values_at("id", "pid")] ||= []
          looks << [now, node["work"]["done"]]
          looks.shift while now - looks.first.first > WINDOW
          (at, was), (_, is) = looks.first, looks.last
          (is - was) / (now - at) if now > at && is.positive? # else it counts nothing
        end
      end
      private_constant :Meter
    end
  end
end
