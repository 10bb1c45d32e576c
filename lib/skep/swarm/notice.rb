# frozen_string_literal: true

# The time a node has to end once it was asked to: stop_timeout, then it is killed. Shortly before
# that it is asked where its threads are (node_backtraces), so that the log tells why.
#
#   notice = Notice.new(config, loop:)
#   notice.give(node)               # it has been asked to end
#   notice.give_all(roster) { … }   # all have; at the end the block does what is due
module Skep
  class Swarm
    class Notice
      TESTIMONY_SECONDS = 1.0
      private_constant :TESTIMONY_SECONDS

      def initialize(config, loop:) #: (Config, loop: OS::Loop) -> void
        @config = config
        @loop = loop
      end

      def give(node) #: (Node) -> void
        node.watches << @loop.after(@config.stop_timeout - testimony) { ask(node) }
        node.watches << @loop.after(@config.stop_timeout) { node.kill("stop_timeout") }
      end

      # What is to be cancelled once all have ended.
      #: (Roster) { () -> void } -> Array[OS::Loop::Timer]
      def give_all(roster, &)
        [@loop.after(@config.stop_timeout - testimony) do
           roster.nodes.each { |node| ask(node) unless node.helper? }
         end,
         @loop.after(@config.stop_timeout, &)]
      end

      private

      def ask(node) = node.channel.send("backtraces")
      def testimony = [TESTIMONY_SECONDS, @config.stop_timeout / 2].min
    end
    private_constant :Notice
  end
end
