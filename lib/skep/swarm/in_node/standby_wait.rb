# frozen_string_literal: true

# What a spare does: it has booted, and waits until the supervisor gives it the slot of a node that
# died.
#
#   standby = StandbyWait.new(child, report:)
#   task = standby.wait     # => the kind of work of its slot; nil: it is to stop
#
# It beats while it waits.
module Skep
  class Swarm
    module InNode
      class StandbyWait
        def initialize(child, report:)
          @child = child
          @report = report
          @orders = Threads::Inbox.new
        end

        # The control thread's side.
        def hear(frame) #: (IPC::Channel::Message) -> void
          @orders.push([frame["node"], frame["task"]]) if frame.type == "step_in"
        end

        def wait #: () -> Integer?
          @child.on_stop { @orders.push([]) }
          @report.call("spare", {})
          until @child.stopping?
            @child.beat
            id, task = @orders.pop(timeout: @child.beat_every)
            return step_in(id, task) if id
          end
        end

        private

        def step_in(id, task)
          ENV["SKEP_NODE_ID"] = id.to_s
          @child.__assign(id)
          @report.call("stepped_in", {})
          task
        end
      end
    end
  end
end
