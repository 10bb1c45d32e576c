# frozen_string_literal: true

# In a stop of the swarm, reports to nodes whose work is done that all nodes of the same consumer
# group, or of the same kind of work, are done: they leave the group then, together.
#
#   barrier = StopBarrier.new(nodes, config.tasks)   # which are to stop
#   barrier.finished(node)                         # its work is done, and it waits
#   barrier.gone(node)                             # it has ended
module Skep
  class Swarm
    module Nodes
      class StopBarrier
        def initialize(nodes, tasks)
          @groups = tasks.map.with_index { |task, number| task.dig("facts", "group") || number }
          @unfinished = nodes.reject { |node| node.helper? || node.lost? }
                             .group_by { |node| group(node) }
          @waiting = Hash.new { |all, group| all[group] = [] }
        end

        def finished(node)
          @waiting[group(node)] << node
          gone(node)
        end

        def gone(node)
          left = @unfinished[group(node)] or return
          left.delete(node)
          @waiting.delete(group(node))&.each { |one| report_all_finished(one) } if left.empty?
        end

        private

        def group(node) = node.task && @groups[node.task]
        def report_all_finished(node) = node.live? && node.channel.post("all_finished")
      end
    end
  end
end
