# frozen_string_literal: true

# The topic for messages that can't be done: each goes there with its key, its headers and why it
# is there.
#
#   dead_letter.put(message, error, attempts: 5)   # returns when the broker has it
#
# Raises NotDelivered if the broker didn't take it, at a stop after some seconds. Headers added:
# skep.topic, skep.partition, skep.offset, skep.error, skep.attempts and skep.host; skep.crashes, of
# one that crashed its nodes. A message that has the first three already, as it was a dead letter
# once, keeps those.
module Skep
  module Kafka
    class DeadLetter
      SECONDS = 30
      LONGEST = SECONDS + 5.0 # seconds that a put can take, one at a time
      # Each goes out by itself, and is given up in time, whatever other messages are allowed.
      OWN = { "linger.ms" => "0", "message.timeout.ms" => (SECONDS * 1000).to_s }.freeze
      OTHERS = [*Hurry::NAMES, "delivery.timeout.ms"].freeze # that mean the same
      TURN = 1.0 # seconds of waiting between two looks whether to stop
      STOP_SECONDS = 10.0 # how long a stop waits, for all of them
      ORIGIN = %w[skep.topic skep.partition skep.offset].freeze
      private_constant :ORIGIN
      private_constant :SECONDS, :OWN, :OTHERS, :TURN, :STOP_SECONDS

      def initialize(options, child) #: (Options, Child) -> void
        @topic, @settings = options.dead_letter, options.settings
        @child = child
        @lock = Mutex.new
      end

      # through: the handler's Outlet. Where that makes transactions it goes out as part of one.
      #: (Message, Exception, attempts: Integer, ?crashes: Integer?, ?through: Outlet?) -> void
      def put(message, error, attempts:, crashes: nil, through: nil)
        headers = headers(message, error, "skep.attempts" => attempts.to_s,
                                          "skep.crashes" => crashes&.to_s)
        return write(message, headers) unless through&.atomic?

        through.begin
        through.produce(@topic, message.payload, key: message.key, headers:)
      end

      def close = @lock.synchronize { @writer&.close } #: () -> void

      private

      def write(message, headers)
        @lock.synchronize do
          begin_anew if @writer&.fatal
          failed = writer.failed
          writer.put(@topic, message.key, message.payload, headers)
          next if flush && writer.failed == failed

          cause = writer.cause || "no answer within #{SECONDS} s"
          raise NotDelivered.new(topic: @topic, cause: Secrets.scrub(cause, @settings.secrets))
        end
      end

      # Was it answered for?
      def flush
        deadline = OS.now + SECONDS + 1
        until (done = writer.flush(TURN).zero?) || OS.now >= deadline
          break if @child.stopping? && OS.now >= stop_at
        end
        done
      end

      # It comes again then.
      def stop_at
        @stop_at ||= OS.now + [STOP_SECONDS, (@child.time_left || STOP_SECONDS) / 3].min
      end

      # What made librdkafka give up (a refusal, for an idempotent producer), at once or some time
      # after a message, may have been mended.
      def begin_anew
        @writer.close
        @writer = nil
      end

      # Most nodes never need one.
      def writer
        @writer ||= Writer.new(Producer.settings(@settings).except(*OTHERS).merge(OWN))
      rescue CallFailed => e # settings that contradict each other
        raise NotDelivered.new(topic: @topic, cause: Secrets.scrub(e.message, @settings.secrets))
      end

      def headers(message, error, counts)
        text = Secrets.scrub(Words.of(error), @settings.secrets)
        message.headers.merge(
          origin(message), counts.compact,
          "skep.error" => text.byteslice(0, 1_000).scrub, "skep.host" => Socket.gethostname
        )
      end

      def origin(message)
        return {} if message.headers.key?(ORIGIN.first)

        ORIGIN.zip([message.topic, message.partition.to_s, message.offset.to_s]).to_h
      end
    end
    private_constant :DeadLetter
  end
end
