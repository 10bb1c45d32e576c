# frozen_string_literal: true

# Calls the source's `on_assigned` and `on_revoked`, each with the topic, the partition's
# number and the Hash that is the user's own for this partition (Batch#state).
#
#   callbacks = AssignmentCallbacks.for(options, node, report)
#   callbacks.assigned(partition)   # before its first batch; an exception ends the node
#   callbacks.revoked(partitions)   # after their last batch; exceptions are reported
#   callbacks.close                 # the same for all that are left
#
# The event loop calls them, and the main thread at the end. A handler that is slower than
# `rebalance_wait` may still run then.
module Skep
  module Kafka
    class Consumer
      class AssignmentCallbacks
        # Returns nil if the source, or each of its topics, has none.
        def self.for(options, node, report)
          new(node, report) if options.all.any? { |one| one.on_assigned || one.on_revoked }
        end

        def initialize(node, report)
          @node, @report = node, report
          @assigned = {}.compare_by_identity
        end

        def assigned(partition)
          call(partition.options.on_assigned, partition)
          @assigned[partition] = true
        end

        def revoked(partitions)
          partitions.each { |partition| revoke(partition) if @assigned.delete(partition) }
        end

        def close = revoked(@assigned.keys)

        def inspect = "#<Skep::Kafka::Consumer::AssignmentCallbacks #{@assigned.size}>"

        private

        def call(callback, partition)
          return unless callback

          Swarm::Processes::RailsHook.wrap(callback, @node)
                                     .call(*partition.key, partition.user_state)
        end

        def revoke(partition)
          call(partition.options.on_revoked, partition)
        rescue Exception => e # the user's: the partition is given up, and what is done committed
          topic, number = partition.key
          error = @report.clean(Metrics::EventReporter.describe(e))
          @report.event(:hook_failed, level: :error, hook: "on_revoked", topic:, partition: number,
                                      error:, at: ErrorPlace.of(e))
          @node.__failed(e, topic:, partition: number)
        end
      end
    end
  end
end
