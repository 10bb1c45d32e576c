# frozen_string_literal: true

module Skep
  module Kafka
    module Processing
      # Calls a user's code that has to return or to raise. Raises a HandlerLeft if it does neither:
      # a `throw`, or a `return` of a method that is still running, would leave the worker, and end
      # the node without a word.
      #
      #   UserCode.call { handler.call(batch, node) }   # => what the block returns
      #
      # A process that it forks without a block ends where it leaves the code, whichever way. As a
      # copy of the node it would take the wakeups of the node's own threads, for ever.
      module UserCode
        FORKED = "a process that a Kafka handler (or filter, deserializer, key callable) forked " \
                 "has left it, and ends. Use fork { … }, with the child's work in the block"
        private_constant :FORKED

        def self.call
          home = OS::Generation.count
          left = true
          result = yield
          left = false
          result
        rescue Exception => e # it is raised again; what ends without one is left
          left = false
          raise
        ensure # the end of a thread is Worker's
          end_child(e) if OS::Generation.count != home
          raise HandlerLeft if left && Thread.current.status != "aborting"
        end

        # Without `exit`, which would run what is to end the node: it would leave the group.
        def self.end_child(error)
          status = error.nil? ? 0 : 1
          status = error.status if SystemExit === error
          Threads::Background.drain
          warn("skep: pid=#{Process.pid} #{FORKED}")
          warn(error.full_message(highlight: false)) unless error.nil? || SystemExit === error
          $stdout.flush
        ensure
          exit!(status)
        end
        private_class_method :end_child
      end
    end
  end
end
