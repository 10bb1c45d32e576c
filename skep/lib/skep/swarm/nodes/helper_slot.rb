# frozen_string_literal: true

# The slot of the helper: a node that does no work but runs the users' event blocks, passes events
# on and serves metrics (what runs in its process is Processes::HelperMain).
#
#   helper = HelperSlot.new(%w[node_died])
#   helper.post_event("node_died", facts)   # kept until there is a process to send it to
#   helper.take_dropped                     # => how many events there was no room for
#   helper.subscribe(%w[node_ready])        # these events are for it, too, from here on
#   helper.subscribe_all                    # all events are
#   helper.serve(socket)                    # lent to its process, and to each that follows;
#                                           # the supervisor passes clients of metrics over it
#
# It is booted, replaced and stopped as other slots are, goes last, and doesn't count as a node.
module Skep
  class Swarm
    module Nodes
      class HelperSlot < Slot
        BACKLOG = 1_000
        private_constant :BACKLOG

        def initialize(events, options: nil)
          super(nil, nil, options:)
          @events = events
          @backlog = []
          @dropped = 0
        end

        def label = "helper"
        def helper? = true

        def launch(node)
          super
          lend(node)
          @backlog.shift(BACKLOG).each { |event| post_event(*event) }
        end

        # New code subscribes to these; the old code's events are sent until that has gone.
        def subscribe(events)
          @events |= events
        end

        def subscribe_all = @all_events = true

        def serve(socket)
          @socket = socket
          nodes.each { |node| lend(node) }
        end

        # Events about the helper itself are left out: each would cause the next.
        def post_event(name, facts, level = nil)
          return if facts[:node] == label || !(@all_events || @events.include?(name))

          kept = live? ? send_event(name, facts, level) : keep_event(name, facts, level)
          @dropped += 1 unless kept
        end

        # Returns how many events were lost since the last call, because its process is slow (an
        # `on` block waits) or missing for long; 0 as long as there is no room. last: no event will
        # come.
        def take_dropped(last: false)
          return 0 if @dropped.zero? || (@full && !last)

          dropped, @dropped = @dropped, 0
          dropped
        end

        # It stops last, because it gets the exit of every node.
        def stop_last
          nodes.each { |node| node.stop unless node.state == :stopping }
        end

        private

        def send_event(name, facts, level)
          message = { "name" => name, "facts" => facts, "level" => level&.to_s }
          sent = node.channel.post("event", message, may_drop: true)
          @full = !sent
          sent
        end

        def keep_event(*event)
          @full = @backlog.size >= BACKLOG
          @backlog << event unless @full
          !@full
        end

        def lend(node) = @socket && node.channel.post("serve", {}, lend: [@socket])
      end
    end
  end
end
