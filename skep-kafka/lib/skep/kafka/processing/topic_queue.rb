# frozen_string_literal: true

# What is ready to be read or processed, of a source with several topics: a Thread::Queue that is
# fair between topics. Thread-safe.
#
#   queue = TopicQueue.new(options)   # SeveralTopics
#   queue << entry            # a partition or a work item
#   queue.pop                 # waits for one; nil once closed
#   queue.took(item)          # the turn of this thread is about this work item
#   queue.end_turn            # this thread has finished with what it popped
#
# A turn is what a thread does with one entry. The topic whose turns have taken the least time so
# far, divided by its weight, is next. A topic that had nothing to do begins with the least time of
# those that have: it doesn't catch up on what it has missed.
#
# A turn can't be interrupted. So the last free thread is for topics that have no turn in progress,
# and for those whose turns are short: a slow topic never has all threads (one thread excepted).
module Skep
  module Kafka
    module Processing
      class TopicQueue
        SHORT = 0.02 # seconds
        private_constant :SHORT

        # What a topic, or a pattern, has used.
        class Share
          attr_accessor :spent # seconds of turns that have ended, divided by the weight
          attr_reader :running # turns in progress
          attr_reader :weight

          def initialize(weight)
            @weight = weight.to_f
            @spent = @ahead = @running = 0
          end

          # With what turns in progress are expected to take.
          def used = spent + @ahead

          def begin_turn
            @running += 1
            @ahead += expected / @weight
            expected
          end

          # expected: what begin_turn returned. A turn without messages is no sign of how long the
          # next one takes.
          def end_turn(expected, seconds, messages:)
            @running -= 1
            @ahead = @running.zero? ? 0 : @ahead - (expected / @weight)
            @spent += seconds / @weight
            return unless messages

            @seconds = [seconds, (expected + seconds) / 2].max
          end

          # Until a topic has had a turn, its turns are taken to be long.
          def short? = !@seconds.nil? && @seconds <= SHORT

          private

          # Seconds that the next turn takes: what the last one took, or more if others took more.
          def expected = @seconds || 0.0
        end

        Turn = Struct.new(:share, :expected, :began, :messages)
        private_constant :Share, :Turn

        def initialize(options, clock: OS.method(:now))
          @threads, @clock = options.threads, clock
          @shares = options.all.to_h { |one| [one, Share.new(one.weight)] }.compare_by_identity
          @waiting = {}.compare_by_identity # share => entries, without empty ones
          @turns = {}.compare_by_identity # thread => Turn
          @most = 0 # what the topic has spent that has spent most
          @lock = Mutex.new
          @changed = ConditionVariable.new
        end

        def <<(entry)
          @lock.synchronize do
            share = @shares.fetch(entry.partition.options)
            catch_up(share) unless @waiting.key?(share)
            (@waiting[share] ||= []) << entry
            @changed.signal
          end
        end

        def pop
          @lock.synchronize do
            until @closed || (share = next_share)
              @changed.wait(@lock)
            end
            begin_turn(share) unless @closed
          end
        end

        def took(item)
          @lock.synchronize { @turns[Thread.current]&.messages = true if item.slice }
        end

        # Has no effect without a turn.
        def end_turn
          @lock.synchronize do
            turn = @turns.delete(Thread.current) or next
            turn.share.end_turn(turn.expected, @clock.call - turn.began, messages: turn.messages)
            @most = [@most, turn.share.spent].max
            @changed.broadcast
          end
        end

        def empty? = @waiting.empty?
        def closed? = @closed ? true : false

        def close
          @lock.synchronize do
            @closed = true
            @changed.broadcast
          end
          self
        end

        def clear = @lock.synchronize { @waiting.clear }

        def inspect = "#<Skep::Kafka::Processing::TopicQueue topics=#{@shares.size}>"

        private

        def next_share
          last = @threads - @turns.size <= 1
          some = @waiting.each_key
          some = some.select { |share| share.running.zero? || share.short? } if last
          some.min_by(&:used)
        end

        def begin_turn(share)
          entries = @waiting[share]
          entry = entries.shift
          @waiting.delete(share) if entries.empty?
          @turns[Thread.current] = Turn.new(share, share.begin_turn, @clock.call)
          entry
        end

        # A topic that begins has spent as much as the least of those that have work now.
        def catch_up(share)
          return unless share.running.zero?

          active = @waiting.keys | @turns.each_value.map(&:share)
          least = active.map { |one| spent_by_now(one) }.min || @most
          share.spent = [share.spent, least].max
        end

        def spent_by_now(share)
          now = @clock.call
          turns = @turns.each_value.select { |turn| turn.share.equal?(share) }
          share.spent + (turns.sum { |turn| now - turn.began } / share.weight)
        end
      end
    end
  end
end
