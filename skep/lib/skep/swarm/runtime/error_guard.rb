# frozen_string_literal: true

# The guard round every callback of the supervisor: timers, descriptors, signals, messages, commands
# and observers. An exception in one is a bug of skep's: it is counted and published as
# `supervisor_error`, and the supervisor goes on.
#
#   guard = ErrorGuard.new(events) { |too_many| … }   # EventBus#guard calls it
#   guard.call("timer") { … }               # => nil, or the exception that was reported
#   guard.count                             # => 1
#
# Until `keep_running`, exceptions leave the guard: there are no nodes yet that they could harm, and
# the supervisor ends with the error. Those of observers and commands never do.
#
# At most LIMIT are published within WINDOW seconds, so that a storm can't fill a disk; the others
# are counted only. The block is called after each, with true if there were more than LIMIT in that
# time: what the supervisor knows may be wrong then, and it ends the swarm. Errors of observers and
# commands don't count for that: they mostly only read what the supervisor knows, and a monitor may
# ask for the status each second.
module Skep
  class Swarm
    module Runtime
      class ErrorGuard
        LIMIT = 10
        WINDOW = 60.0
        LINES = 20 # of a backtrace
        private_constant :LIMIT, :WINDOW, :LINES

        attr_reader :count

        def initialize(events, &on_error)
          @events = events
          @on_error = on_error
          @count = 0
          @all = []
          @own = []
          @keep_running = false
        end

        # Nodes have been requested: from now on the supervisor survives its errors.
        def keep_running = @keep_running = true

        # Runs the block. Returns nil, or the exception that the block raised. SystemExit,
        # Interrupt, NoMemoryError and the like leave the guard.
        # action: what the supervisor does: "timer", "descriptor", "signal TERM", a message, a
        # command. harmless: it is an observer's or a command's.
        def call(action, subject: nil, harmless: false)
          yield
          nil
        rescue StandardError, ScriptError, SystemStackError => e
          raise unless @keep_running || harmless

          add(e, action, subject, harmless)
          e
        end

        private

        def add(error, action, subject, harmless)
          @count += 1
          published = publish(error, action, subject)
          @events.count("supervisor_error") unless published
          @on_error&.call(!harmless && more_than_limit?(@own))
        rescue StandardError => e
          print(e)
        end

        # Returns true if there were more than LIMIT within WINDOW, this one included.
        def more_than_limit?(times, now = OS.now)
          times.shift while times.any? && times.first <= now - WINDOW
          times << now if times.size <= LIMIT
          times.size > LIMIT
        end

        # An error while an error is published, as that of an observer that fails at each event, is
        # printed only. Returns true if it was published.
        def publish(error, action, subject)
          return print(error) if @publishing
          return false if more_than_limit?(@all)

          publishing { publish_event(error, action, subject) }
          true
        end

        def publishing
          @publishing = true
          yield
        ensure
          @publishing = false
        end

        def publish_event(error, action, subject)
          backtrace = error.backtrace.to_a
          @events.publish(:supervisor_error, subject, level: :error, action:, count:,
                                                      at: backtrace.first&.sub(/:in .*/, ""),
                                                      error: text(error),
                                                      backtrace: backtrace.first(LINES))
        end

        # Without the lines of source that Ruby 3.1 adds to a NameError's message.
        def text(error)
          plain = error.respond_to?(:original_message) ? error.original_message : error.message
          "#{error.class}: #{plain.encode("UTF-8", invalid: :replace, undef: :replace).scrub}"
        end

        def print(error)
          warn("skep: #{text(error)} at #{error.backtrace&.first}")
          false
        rescue SystemCallError, IOError # stderr is closed, or its disk is full
          false
        end
      end
    end
  end
end
