# frozen_string_literal: true

# All that the screen is drawn from.
#
#   model = Model.new(status)
#   model.update(status, OS.now, local: true)
#   model.select(1)     # selects the next node
#   model.node          # => the selected node of the status
#   model.cpu(node)     # => 25.0, percent of one processor
module Skep
  module CLI
    module Top
      class Model
        KEPT_EVENTS = 200
        private_constant :KEPT_EVENTS

        attr_reader :status, :events
        attr_reader :selected          # a node's id
        attr_reader :supervisor_memory # bytes, nil if unknown
        attr_reader :lag               # as Plugin.lag returns it
        attr_accessor :problem         # why the status may be out of date
        attr_accessor :prompt          # a question that waits for a key
        attr_accessor :pager           # a Pager shown in place of the table
        attr_accessor :message

        def initialize(status, sampler: Control::ProcessSampler.new)
          @sampler = sampler
          @events = []
          update(status, OS.now, local: false)
          @selected = nodes.first&.fetch("id")
        end

        # local: the pids in the status are those of this process' /proc. They aren't if the swarm
        # runs in another container.
        def update(status, now, local:)
          @status = status
          @troubles = Swarm::Diagnosis.by_node(status)
          @nodes = status["nodes"].partition { |node| trouble?(node) }.flatten(1)
          @lag = Plugin.lag(status) # of thousands of partitions: once, not for each frame
          @sample = @sampler.sample(status, now, pids: local)
          @supervisor_memory = local ? memory_of(status["pid"]) : nil
          @problem = nil
        end

        # Those with a problem come first, the others as in the status.
        attr_reader :nodes

        # Returns true if something is wrong with the node but what someone has asked for.
        def trouble?(node)
          @troubles.key?(node["id"]) || !!node["unhealthy"] || !!node["crash_loop"]
        end

        # The nodes that are no spares.
        def slots = nodes.select { |node| node["id"].is_a?(Integer) }

        # Returns true if the swarm has several works, which are told apart by their names.
        def works? = status["works"].to_a.count { |work| work["name"] } > 1

        # The name of the selected node's work; nil: it has none, or the swarm has only one.
        def work = works? && node ? node["work_name"] : nil

        # The number that `skep scale` sets for that work; without a name the nodes of each work
        # that has no number of its own.
        def scale(work = nil)
          named = status["works"].find { |one| one["name"] == work } if work
          (named || status["scale"] || {})["nodes"] || slots.size
        end

        def cpu(node) = @sample.cpu[node["id"]]&.then { |part| part * 100 }
        def rate(node) = @sample.rates[node["id"]]

        # The place of the selected node; the first if it has gone.
        def index = nodes.index { |node| node["id"] == selected } || 0

        def node = nodes[index]

        def select(steps)
          return if nodes.empty?

          @selected = nodes[(index + steps).clamp(0, nodes.size - 1)]["id"]
        end

        # Events of level debug aren't shown: supervisors of older versions send them, too. An
        # EventGap is where some are missing.
        def add(events)
          @events.concat(events.reject { |one| one.is_a?(Hash) && one["level"] == "debug" })
          @events.shift(@events.size - KEPT_EVENTS) if @events.size > KEPT_EVENTS
        end

        private

        def memory_of(pid)
          OS::Memory.of(pid)&.uss
        rescue SystemCallError # another user's
          nil
        end
      end
    end
  end
end
