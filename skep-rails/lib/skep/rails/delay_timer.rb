# frozen_string_literal: true

# Times how long messages stay in delay topics, although the host that wrote a message and this one
# may disagree about the time.
#
#   timer = DelayTimer.new(delays)
#   stay = timer.stay(message, due)
#   stay.seconds_left     # => 29.3; not positive: it is over
#   stay.writers_time     # what the clock of the host that wrote the message says now
#   stay.ahead            # by how many seconds at least that clock is ahead of this one, or nil
#   timer.ended(message)
#
# The job's time (`due`) and the message's timestamp are from one clock, so their difference is
# exact. Only the message's age compares two clocks, once, when the message is first seen: from then
# on the monotonic clock counts. A message can't be younger than nothing, so a host whose clock is
# behind doesn't make its jobs later. A clock that is ahead can't be told from a backlog.
module Skep
  module Rails
    class DelayTimer
      # since: when the message was written, by its writer's clock; length: seconds of the stay;
      # seen_at: monotonic seconds; age: how old the message was then; ahead: see above.
      Stay = Struct.new(:offset, :since, :length, :seen_at, :age, :ahead, keyword_init: true) do
        def elapsed(now = OS.now) = age + (now - seen_at)
        def seconds_left(now = OS.now) = length - elapsed(now)
        def writers_time(now = OS.now) = since + elapsed(now)
      end

      def initialize(delays)
        @delays = delays
        @lock = Mutex.new
        @stays = {} # by partition: there is one message at its head
      end

      # due: when the job is to run, in seconds since 1970; now: by this host's clock.
      def stay(message, due, now: Time.current.to_f, seen_at: OS.now)
        since = message.timestamp&.to_f || now
        @lock.synchronize do
          known = @stays[place(message)]
          next known if known && known.offset == message.offset && known.since == since

          length = @delays.stay(message.topic, since:, due:)
          @stays[place(message)] =
            Stay.new(offset: message.offset, since:, length:, seen_at:,
                     age: [now - since, 0].max, ahead: (since - now if since > now))
        end
      end

      def ended(message) = @lock.synchronize { @stays.delete(place(message)) }

      def inspect = "#<#{self.class} #{@delays.inspect}>"

      private

      def place(message) = [message.topic, message.partition]
    end
    private_constant :DelayTimer
  end
end
