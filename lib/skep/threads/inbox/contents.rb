# frozen_string_literal: true

module Skep
  module Threads
    class Inbox
      # What is in an inbox in one process, and the lock and bell that go with it.
      #
      #   contents = Contents.new(generation)
      #   contents.push(item)                # => false once closed
      #   contents.pop(OS.now + 0.5)         # => an item or nil
      #   contents.renew(generation)         # empty, with a lock and a bell of its own
      #
      # A condition variable is used since Ruby 3.1's Queue#pop knows no deadline.
      class Contents
        attr_reader :generation #: Integer
        attr_reader :popped     #: Integer

        #: (Integer generation, ?closed: bool) -> void
        def initialize(generation, closed: false)
          @generation = generation
          @closed = closed
          @items = []
          @popped = 0
          @lock = Mutex.new
          @bell = ConditionVariable.new
        end

        #: (Integer generation) -> Contents
        def renew(generation) = Contents.new(generation, closed: @closed)

        #: (untyped item) -> bool
        def push(item)
          @lock.synchronize do
            return false if @closed

            @items << item
            @bell.signal
            true
          end
        end

        #: (Float? deadline) -> untyped
        def pop(deadline)
          @lock.synchronize do
            while @items.empty? && !@closed
              left = deadline && (deadline - OS.now)
              break if left && left <= 0

              @bell.wait(@lock, left)
            end
            @items.shift.tap { |item| @popped += 1 unless item.nil? }
          end
        end

        #: () -> void
        def close
          @lock.synchronize do
            @closed = true
            @bell.broadcast
          end
          nil
        end

        #: () -> bool
        def closed? = @closed

        #: () -> Integer
        def size = @items.size
      end
      private_constant :Contents
    end
  end
end
