# frozen_string_literal: true

# Waits for IOs, a deadline or a wake-up, and ticks the heartbeat meanwhile. Any number of
# threads and fibers may wait at once.
#
#   waiter = InterruptibleWait.new(every: 10.0) { stopping? }   # true ends all waits
#   waiter.wait_for([io], 5.0, heartbeat)   # => [io]; [] once notified, or at the deadline
#   waiter.until(heartbeat) { placed? }     # calls the block at each wake-up
#   waiter.notify    # ends the present wait_for of each thread, or its next one
#   waiter.wake      # lets each `until` call its block again
#
# Each wake-up closes its own pipe, and waits that have checked their condition use the next
# pipe. So a wait whose thread can't run, or was killed, doesn't keep other waits awake.
module Skep
  class Swarm
    module Processes
      class InterruptibleWait
        WITHOUT_PIPE = 0.01 # seconds between two looks where no descriptor is free for a pipe
        private_constant :WITHOUT_PIPE

        # The pipe of one wake-up, and the number of waits that use it. The last wait closes it.
        class WakePipe
          attr_reader :reader

          def initialize
            @reader, @writer = OS.pipe
            @waits = 0
          end

          def wake = @writer.close
          def woken? = @writer.closed?
          def enter = tap { @waits += 1 }

          def leave = (@waits -= 1) && retire

          # Called when new waits use the next pipe.
          def retire = woken? && @waits.zero? && @reader.close
          def close = [@reader, @writer].each(&:close)
          def closed? = @reader.closed?
        end
        private_constant :WakePipe

        attr_accessor :every # seconds between two ticks while waiting

        def initialize(every:, &over)
          @every = every
          @over = over
          @pipe = WakePipe.new
          @lock = Mutex.new
          @notified = 0
          @key = :"skep_notified_#{object_id}"
        end

        def wake
          @lock.synchronize do
            @pipe.wake
            replace_pipe unless @pipe.closed?
          end
        end

        def notify
          @notified += 1
          wake
        end

        def close = @lock.synchronize { @pipe.close }

        def wait_for(ios, timeout, heartbeat) = wait(ios, timeout, heartbeat) { notified? }

        # Waits until the block returns true, or waiting is over.
        def until(heartbeat, timeout = nil, &block) = wait([], timeout, heartbeat, &block)

        private

        def wait(ios, timeout, heartbeat)
          deadline = timeout ? OS.now + timeout : Float::INFINITY
          found = []
          pipe = nil
          Kernel.loop do
            pipe = current(pipe)
            return [] if @over.call || yield
            return found if found.any?

            heartbeat.tick
            if @pipe.woken? # it couldn't be replaced, and is readable all the time
              found = wait_without_pipe(ios)
              return [] if found.empty? && OS.now >= deadline

              next
            end

            readable = readable([pipe.reader, *ios], (deadline - OS.now).clamp(0, every)) || []
            return readable if readable.any? && !readable.include?(pipe.reader)
            return [] if readable.empty? && OS.now >= deadline

            found = readable - [pipe.reader]
          end
        ensure
          @lock.synchronize { pipe&.leave }
          heartbeat.tick # the next item has the full timeout
        end

        # Returns true once for each thread, or fiber, after a notification.
        def notified?
          notified = @notified
          return false if Thread.current[@key].to_i == notified

          Thread.current[@key] = notified
          true
        end

        # Returns the pipe of the next wake-up, in place of the pipe that the wait has used.
        def current(pipe)
          @lock.synchronize do
            replace_pipe if @pipe.woken?
            next pipe if pipe == @pipe

            pipe&.leave
            @pipe.enter
          end
        end

        def wait_without_pipe(ios)
          return readable(ios, WITHOUT_PIPE) || [] if ios.any?

          @lock.synchronize { ConditionVariable.new.wait(@lock, WITHOUT_PIPE) }
          []
        end

        # Without a free descriptor the pipe stays closed, and waits check their condition every
        # WITHOUT_PIPE seconds until there is one. So no wake-up is missed.
        def replace_pipe
          woken, @pipe = @pipe, WakePipe.new
          woken.retire
        rescue Errno::EMFILE, Errno::ENFILE
          nil
        end

        # Waits for a single IO with IO#wait_readable, which uses the Fiber scheduler. A scheduler
        # that doesn't implement IO.select would block all its fibers.
        def readable(ios, seconds)
          return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

          ios if ios.first.wait_readable(seconds)
        end
      end
    end
  end
end
