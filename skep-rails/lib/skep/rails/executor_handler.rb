# frozen_string_literal: true

# Wraps a handler, or a callback of partitions, in Rails' executor, as Rails wraps a request. In
# development edited code is reloaded before the call; afterwards the database connection returns to
# its pool. Exceptions are reported to Rails.error, once each, and raised again.
#
#   ExecutorHandler.new(->(batch, node) { … }, node).call(batch, node)
module Skep
  module Rails
    class ExecutorHandler
      SOURCE = "application.skep"
      private_constant :SOURCE

      def initialize(handler, node)
        @handler, @node = handler, node
      end

      def call(*arguments)
        ::Rails.application.reloader.wrap(source: SOURCE) do
          @handler.call(*arguments)
        rescue Exception => e # those that end the node, too: all are raised again
          ::Rails.error.report(e, handled: false, context: context(e, *arguments),
                                        source: SOURCE)
          raise
        end
      end

      def to_proc = method(:call).to_proc

      private

      def context(error, *arguments)
        { swarm: @node.swarm, node: @node.id, **place(error, *arguments) }
      end

      # Topic, partition and offset of the message, if the work is a batch. A callback gets topic
      # and partition.
      def place(error, batch = nil, partition = nil, *)
        return { topic: batch, partition: } if batch.is_a?(String)
        return {} unless batch.respond_to?(:first_offset)

        offset = batch.__attempt&.failed_at(error) || batch.first_offset
        { topic: batch.topic, partition: batch.partition, offset:, last_offset: batch.last_offset }
      end
    end
    private_constant :ExecutorHandler

    def self.wrap(callable, node) = ExecutorHandler.new(callable, node)

    # Runs a node's work.
    def self.run(source, node, handler)
      source.run(node, wrap(handler, node))
    ensure
      JobProducer.close if defined?(JobProducer)
    end
  end
end
