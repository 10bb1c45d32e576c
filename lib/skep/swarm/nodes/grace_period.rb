# frozen_string_literal: true

# Tells when a stopping node is overdue: after stop_timeout. Shortly before, it requests the node's
# backtraces (node_backtraces), so that the log shows why the node didn't end in time.
#
#   grace = GracePeriod.new(config, loop:) { |node| … }   # it is overdue
#   grace.give(node)                   # the node was asked to stop
#   grace.give_all(node_table) { … }   # all nodes were; calls the block after stop_timeout
module Skep
  class Swarm
    module Nodes
      class GracePeriod
        BACKTRACE_SECONDS = 1.0
        private_constant :BACKTRACE_SECONDS

        def initialize(config, loop:, &overdue)
          @config = config
          @loop = loop
          @overdue = overdue
        end

        def give(node)
          seconds = @config.stop_timeout - backtrace_seconds
          node.watches << @loop.deadline(seconds) { request_backtraces(node) }
          node.watches << @loop.deadline(@config.stop_timeout) { @overdue.call(node) }
        end

        # Returns the timers, to be cancelled once all nodes have ended.
        def give_all(node_table, &)
          [@loop.deadline(@config.stop_timeout - backtrace_seconds) do
             node_table.nodes.each { |node| request_backtraces(node) unless node.helper? }
           end,
           @loop.deadline(@config.stop_timeout, &)]
        end

        private

        def request_backtraces(node) = node.channel.post("backtraces")
        def backtrace_seconds = [BACKTRACE_SECONDS, @config.stop_timeout / 2].min
      end
    end
  end
end
