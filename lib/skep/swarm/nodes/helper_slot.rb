# frozen_string_literal: true

# The slot of the helper: a node that does no work but runs the users' event blocks, passes events
# on and serves metrics (its own view is InNode::HelperMain).
#
#   helper = HelperSlot.new(%w[node_died])
#   helper.tell("node_died", facts)      # kept until there is a process to tell
#   helper.hear(%w[node_ready])          # these are for it, too, from here on
#   helper.hear_all                      # all events are
#   helper.serve(socket)                 # lent to its process, and to each that follows
#
# It is booted, replaced and stopped as others are, goes last, and counts as none.
module Skep
  class Swarm
    module Nodes
      class HelperSlot < Nodes::Slot
        UNTOLD = 1_000
        private_constant :UNTOLD

        def initialize(events) #: (Array[String]) -> void
          super(nil, nil)
          @events = events
          @backlog = []
        end

        def label = "helper" #: () -> String
        def helper? = true #: () -> bool

        def take(node)
          super
          lend(node)
          @backlog.shift(UNTOLD).each { |name, facts| tell(name, facts) }
        end

        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { **super, "untold" => @backlog, "hears_all" => @hears_all, "events" => @events }
        end

        #: (Hash[String, untyped], NodeProcess?, Molds::Mold?) -> self
        def restore(plain, node, last_mold)
          @backlog, @hears_all = plain.values_at("untold", "hears_all")
          hear(plain["events"].to_a)
          super
        end

        # New code subscribes to these; what the old code did is told as well until that has gone.
        def hear(events) #: (Array[String]) -> void
          @events |= events
        end

        def subscribe_all = @hears_all = true #: () -> void

        # anew: those that there are don't have it yet.
        def serve(socket, anew: true) #: (BasicSocket, ?anew: bool) -> void
          @socket = socket
          nodes.each { |node| lend(node) } if anew
        end

        def tell(name, facts) #: (String, Hash) -> void
          return unless @hears_all || @events.include?(name)
          return @backlog.size < UNTOLD && @backlog << [name, facts] unless live?

          node.channel.post("event", { "name" => name, "facts" => facts }, may_drop: true)
        end

        # The last to go: it has heard of every node's end.
        #: () -> void
        def stop_last
          nodes.each { |node| node.stop unless node.state == :stopping }
        end

        private

        def lend(node) = @socket && node.channel.post("serve", {}, lend: [@socket])
      end
    end
  end
end
