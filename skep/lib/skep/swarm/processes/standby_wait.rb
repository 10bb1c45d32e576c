# frozen_string_literal: true

# What a spare does: it has booted, and waits until the supervisor gives it the slot of a
# node that died.
#
#   standby = StandbyWait.new(node, report:) { |task| … }   # called before it takes the slot
#   task = standby.wait     # => the kind of work of its slot; nil: it is to stop
#
# It beats while it waits.
module Skep
  class Swarm
    module Processes
      class StandbyWait
        def initialize(node, report:, &before)
          @node = node
          @report = report
          @before = before
          @orders = Threads::Inbox.new
        end

        # Called by the control thread.
        def receive(frame)
          @orders.push([frame["node"], frame["task"], frame.ios]) if frame.type == "step_in"
        end

        # `ready!` in on_boot is reported once the spare has a slot.
        def hold_back?(type)
          return false if @given || type != "ready"

          @ready_early = true
        end

        def wait
          @node.on_stop { @orders.push([]) }
          @report.call("spare", {})
          until @node.stopping?
            @node.beat
            id, task, ios = @orders.pop(timeout: @node.beat_every)
            return step_in(id, task, ios) if id
          end
        end

        private

        def step_in(id, task, ios)
          ENV["SKEP_NODE_ID"] = id.to_s
          @before&.call(task)
          @node.__assign(id, ios)
          @given = true
          @report.call("stepped_in", {})
          @report.call("ready", {}) if @ready_early
          task
        end
      end
    end
  end
end
