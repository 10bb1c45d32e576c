# frozen_string_literal: true

# The slot of the helper: a node that does no work but runs the users' event blocks, passes events
# on and serves metrics (what runs in its process is Processes::HelperMain).
#
#   helper = HelperSlot.new(%w[node_died])
#   helper.tell("node_died", facts)      # kept until there is a process to tell
#   helper.hear(%w[node_ready])          # these events are for it, too, from here on
#   helper.subscribe_all                 # all events are
#   helper.serve(socket)                 # lent to its process, and to each that follows
#
# It is booted, replaced and stopped as other slots are, goes last, and doesn't count as a node.
module Skep
  class Swarm
    module Nodes
      class HelperSlot < Slot
        BACKLOG = 1_000
        private_constant :BACKLOG

        def initialize(events) #: (Array[String]) -> void
          super(nil, nil)
          @events = events
          @backlog = []
        end

        def label = "helper" #: () -> String
        def helper? = true #: () -> bool

        def launch(node)
          super
          lend(node)
          @backlog.shift(BACKLOG).each { |name, facts| tell(name, facts) }
        end

        def dump(state_file) #: (Rollout::Upgrade::StateFile) -> Hash[String, untyped]
          { **super, "backlog" => @backlog, "all_events" => @all_events, "events" => @events }
        end

        #: (Hash[String, untyped], NodeProcess?, Molds::Mold?) -> self
        def restore(plain, node, last_mold)
          @backlog, @all_events = plain.values_at("backlog", "all_events")
          hear(plain["events"].to_a)
          super
        end

        # New code subscribes to these; the old code's events are told until that has gone.
        def hear(events) #: (Array[String]) -> void
          @events |= events
        end

        def subscribe_all = @all_events = true #: () -> void

        # anew: its processes don't have it yet.
        def serve(socket, anew: true) #: (BasicSocket, ?anew: bool) -> void
          @socket = socket
          nodes.each { |node| lend(node) } if anew
        end

        # Events about the helper itself are left out: each would cause the next.
        def tell(name, facts) #: (String, Hash) -> void
          return if facts[:node] == label || !(@all_events || @events.include?(name))
          return @backlog.size < BACKLOG && @backlog << [name, facts] unless live?

          node.channel.post("event", { "name" => name, "facts" => facts }, may_drop: true)
        end

        # The last to go: it has been told of every node's exit.
        def stop_last #: () -> void
          nodes.each { |node| node.stop unless node.state == :stopping }
        end

        private

        def lend(node) = @socket && node.channel.post("serve", {}, lend: [@socket])
      end
    end
  end
end
