# frozen_string_literal: true

# What the helper process does:
# runs the users' event blocks, `swarm.on(:event) { |facts| … }`, one event after another.
#
#   Listener.new(swarm.listeners, child).run   # until stop, and all that was heard before is told
#
# A block that raises is an event itself, and the next one is run all the same.
module Skep
  class Swarm
    class Listener
      def initialize(listeners, child) #: (Hash[String, Array[Proc]], Child) -> void
        @listeners = listeners
        @child = child
        @inbox = Threads::Inbox.new
        child.on_stop { @inbox.close }
      end

      # The control thread's side.
      def hear(frame) #: (Channel::Frame) -> void
        @inbox.push(frame) if frame.type == "event" && !@inbox.closed?
      end

      def run #: () -> void
        @child.ready!
        until @inbox.closed? && @inbox.empty?
          frame = @inbox.pop(timeout: @child.beat_every)
          @child.beat
          tell(frame["name"], frame["facts"]) if frame
        end
      end

      private

      def tell(name, facts)
        @listeners.fetch(name, []).each { |block| guard(name) { block.call(facts) } }
      end

      def guard(name)
        yield
      rescue StandardError => e # a user's block: its failure is told, and the others still run
        @child.event(:hook_failed, level: :error, hook: "on(#{name})",
                                   error: "#{e.class}: #{e.message}", at: e.backtrace&.first)
      end
    end
  end
end
