# frozen_string_literal: true

module Skep
  module Kafka
    module Processing
      # Calls a user's code that has to return or to raise. Raises a HandlerLeft if it does neither:
      # a `throw`, or a `return` of a method that is still running, would leave the worker, and end
      # the node without a word.
      #
      #   UserCode.call { handler.call(batch, node) }   # => what the block returns
      module UserCode
        def self.call
          left = true
          result = yield
          left = false
          result
        rescue Exception # it is raised again; what ends without one is left
          left = false
          raise
        ensure # the end of a thread is Worker's
          raise HandlerLeft if left && Thread.current.status != "aborting"
        end
      end
    end
  end
end
