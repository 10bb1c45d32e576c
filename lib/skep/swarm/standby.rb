# frozen_string_literal: true

# A spare's own view: it has booted, and waits for a seat whose holder dies.
#
#   standby = Standby.new(child, birth, page:, cells:, report:)
#   task = standby.wait     # => the kind of work of the seat it has now; nil: it is to stop
#
# It beats as it waits. Of several spares the claim says who follows; where there are no locks to
# wait for, the supervisor says so ("step_in"), which comes when it knows of the death.
module Skep
  class Swarm
    class Standby
      def initialize(child, birth, page:, cells:, report:)
        @child = child
        @slot = birth["slot"]
        @seats = birth["seats"].to_h
        @cells = cells
        @locks = OS::Locks.new(page) if OS::Locks.supported?
        @report = report
        @orders = Threads::Inbox.new
      end

      # The control thread's side.
      def hear(frame) #: (Channel::Frame) -> void
        case frame.type
        when "seats" then @seats = frame["seats"].to_h
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

      # A seat that can be claimed, or that we are offered.
      def vacancy
        cells = @seats.keys.to_h { |id| [@cells.of(id), id] }
        cell = @locks.await_death(cells.keys, @child.beat_every)
        cell ? [cells[cell], @seats[cells[cell]]] : @orders.pop(timeout: 0)
      end

      def mine?(id) = @locks.nil? || @locks.claim(@cells.of(id), @slot)

      # From here on the seat is ours; the supervisor can look it up, and hears of it when the work
      # has begun.
      def step_in(id, task, noticed)
        @locks&.hold(@cells.of(id))
        ENV["SKEP_NODE_ID"] = id.to_s
        @child.__sit(id)
        @report.call("stepped_in", { "node" => id, "seconds" => (OS.now - noticed).round(6) },
                     at_once: false)
        task
      end
    end
  end
end
