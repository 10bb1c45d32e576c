# frozen_string_literal: true

# Calls a source's handler inside the blocks of Swarm#around_handler.
#
#   handler = AroundHandler.wrap(handler, swarm.__hooks(:around_handler))
#   handler.call(batch, node)
#
# If there is a subscriber to `handler.skep` by ActiveSupport::Notifications before the work
# begins, each call is instrumented, in the node. Without both, `wrap` returns the handler itself:
# they cost nothing.
module Skep
  class Swarm
    module Processes
      class AroundHandler
        NOTIFICATION = "handler.skep"
        private_constant :NOTIFICATION

        class << self
          def wrap(handler, blocks)
            blocks.empty? && !subscribed? ? handler : new(handler, blocks)
          end

          def subscribed?
            defined?(::ActiveSupport::Notifications) &&
              ::ActiveSupport::Notifications.notifier.listening?(NOTIFICATION)
          end
        end

        def initialize(handler, blocks)
          @handler = handler
          @blocks = blocks
          @subscribed = AroundHandler.subscribed?
        end

        # A call with other arguments has no batch: an embedded server is being configured.
        def call(*arguments)
          return @handler.call(*arguments) unless arguments.size == 2

          batch, node = arguments
          return surround(0, batch, node) unless @subscribed

          ::ActiveSupport::Notifications.instrument(NOTIFICATION, payload(batch, node)) do
            surround(0, batch, node)
          end
        end

        def to_proc = method(:call).to_proc

        private

        def surround(index, batch, node)
          block = @blocks[index] or return @handler.call(batch, node)
          called = false
          result = block.call(batch, node, lambda {
            called = true
            surround(index + 1, batch, node)
          })
          raise HandlerNotCalled.new(block) unless called

          result
        end

        def payload(batch, node)
          place = batch.respond_to?(:place) ? { **batch.place, size: batch.size } : {}
          { swarm: node.swarm, node: node.id, **place }
        end
      end
    end

    # A block of Swarm#around_handler has returned without a call of the handler: the batch isn't
    # processed, so it counts as failed.
    class HandlerNotCalled < Skep::Error
      def initialize(block)
        super("The around_handler block at #{block.source_location&.join(":")} returned without " \
              "handler.call: the batch isn't processed. Call handler.call once in the block.")
      end
    end
  end
end
