# frozen_string_literal: true

# Prints the progress of a run: a line every two seconds, and one for each node that was replaced.
#
#     4.0 s  31,200 of 200,000 (15 %), working
#     4.9 s  kill 2 of 10: node 1 (pid 4242) got SIGKILL, pid 4300 was ready 41 ms later
module Skep
  module Demo
    class Progress
      EVERY = 2.0
      private_constant :EVERY

      # Without `out` it prints nothing.
      def initialize(plan, out)
        @plan, @out = plan, out
        @started_at = @next_at = OS.now
        @shown = 0
        introduce if out
      end

      def show(processed, kills, phase)
        return unless @out

        recovered = kills.select(&:recovered?)
        recovered.drop(@shown).each { |kill| write(text_of(kill, @shown += 1)) }
        return if OS.now < @next_at

        @next_at += EVERY
        write("#{Text.number(processed)} of #{Text.number(@plan.messages)} " \
            "(#{processed * 100 / @plan.messages} %), #{phase}")
      end

      private

      def introduce
        kills = @plan.kills
        from = @plan.brokers ? "the Kafka at #{@plan.brokers}" : "an embedded Kafka broker"
        plan = "#{Text.count(kills, "time")} one is killed with SIGKILL. No message may get lost."
        @out.puts("#{Text.count(@plan.nodes, "node")} handle " \
                  "#{Text.count(@plan.messages, "message")} from #{from}.",
                  kills.zero? ? "No node is killed." : plan, "")
      end

      def text_of(kill, number)
        "kill #{number} of #{@plan.kills}: node #{kill.node} (pid #{kill.pid}) got SIGKILL, " \
          "pid #{kill.successor} was ready #{kill.milliseconds.round} ms later"
      end

      def write(text)
        @out.puts("#{format("%6.1f s", OS.now - @started_at)}  #{text}")
        @out.flush
      end
    end
  end
end
