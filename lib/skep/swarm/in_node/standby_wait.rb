# frozen_string_literal: true

# A spare's own view: it has booted, and waits for a slot whose holder dies.
#
#   standby = StandbyWait.new(child, birth, page:, layout:, report:)
#   task = standby.wait     # => the kind of work of the slot it has now; nil: it is to stop
#
# It beats as it waits. Of several spares the claim says who follows; where there are no locks to
# wait for, the supervisor says so ("step_in"), which comes when it knows of the death.
module Skep
  class Swarm
    module InNode
      class StandbyWait
        def initialize(child, birth, page:, layout:, report:)
          @child = child
          @page_index = birth["page_index"]
          @slots = birth["slots"].to_h
          @layout = layout
          @locks = OS::RobustLocks.new(page) if OS::RobustLocks.supported?
          @report = report
          @orders = Threads::Inbox.new
        end

        # The control thread's side.
        def hear(frame) #: (IPC::Channel::Message) -> void
          case frame.type
          when "slots" then @slots = frame["slots"].to_h
          when "step_in" then @orders.push([frame["node"], frame["task"]])
          end
          @locks&.wake
        end

        def wait #: () -> Integer?
          @child.on_stop { @locks ? @locks.wake : @orders.close }
          @report.call("spare", {})
          until @child.stopping?
            @child.beat
            id, task = @locks ? vacancy : @orders.pop(timeout: @child.beat_every)
            return step_in(id, task, OS.now) if id && mine?(id)
          end
        end

        private

        # A slot that can be claimed, or that we are offered.
        def vacancy
          ids = @slots.keys.to_h { |id| [@layout.of(id), id] }
          cell = @locks.await_death(ids.keys, @child.beat_every)
          cell ? [ids[cell], @slots[ids[cell]]] : @orders.pop(timeout: 0)
        end

        def mine?(id) = @locks.nil? || @locks.claim(@layout.of(id), @page_index)

        # From here on the slot is ours; the supervisor can look it up, and hears of it when the
        # work has begun.
        def step_in(id, task, noticed)
          @locks&.hold(@layout.of(id))
          ENV["SKEP_NODE_ID"] = id.to_s
          @child.__sit(id)
          @report.call("stepped_in", { "node" => id, "seconds" => (OS.now - noticed).round(6) },
                       at_once: false)
          task
        end
      end
    end
  end
end
