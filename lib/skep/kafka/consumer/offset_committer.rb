# frozen_string_literal: true

# Commits what librdkafka doesn't commit by itself: offsets with metadata (CommitMetadata, below).
#
#   committer = OffsetCommitter.new(consumer:, scheduler:, interval: 5.0)
#   committer.io; committer.seconds_left; committer.look    # for the event loop
#   committer.answered(succeeded: false)   # a commit for which nothing waits
#
# | source | who commits an offset | metadata |
# |---|---|---|
# | order by partition | librdkafka every commit_interval, without metadata | failures |
# | order by key | OffsetCommitter every commit_interval | what is done beyond the offset, failures |
# | transactional | the transaction, without metadata | failures |
#
# A failure is committed after half a second, and replaced by the next commit of its partition.
# Commits for which skep waits have the metadata, too (see Processing::Completion).
module Skep
  module Kafka
    class Consumer
      class OffsetCommitter
        FAILURE_SECONDS = 0.5
        private_constant :FAILURE_SECONDS

        def initialize(consumer:, scheduler:, interval:)
          @consumer, @scheduler, @interval = consumer, scheduler, interval
        end

        def io = @scheduler.uncommitted.io

        # Returns the time until `look` must be called; nil without anything to commit.
        def seconds_left = @due && [@due - OS.now, 0].max

        # Commits what is due, without waiting for the answer.
        def look
          @scheduler.uncommitted.drain.each do |number|
            seconds = number.zero? ? @interval : [FAILURE_SECONDS, @interval].min
            @due = [@due, OS.now + seconds].compact.min
          end
          return unless @due && @due <= OS.now

          @due = nil
          @sent = @scheduler.take_uncommitted
          @consumer.commit_later(@sent) if @sent.any?
        end

        # What wasn't committed is committed after the interval.
        def answered(succeeded:)
          sent, @sent = @sent, nil
          @scheduler.commit_again(sent.map { |entry| entry.first(2) }) if sent && !succeeded
        end

        def inspect = "#<Skep::Kafka::Consumer::OffsetCommitter every #{@interval} s>"
      end

      # What a commit says of the messages from its offset on: which of them are done, and how often
      # others have failed alone. The partition's next owner doesn't process the former again, and
      # continues to count the latter.
      #
      #   text = CommitMetadata.write(40, done: "0101", failures: { 40 => failures }, epoch: 7)
      #   found = CommitMetadata.read(text, 40)
      #   found.done?(43)         # => true
      #   found.failures          # => { 40 => a Failure::FailureCount }
      #
      # Brokers accept 4,096 bytes (offset.metadata.max.bytes): done are digits, in the text as a
      # compressed bitmap. What doesn't fit is left out: offsets far behind, failures of few tries.
      #
      # Only an unclean leader election can have other messages at these offsets, of a higher leader
      # epoch. So the next owner compares epochs before it leaves a message out.
      class CommitMetadata
        OFFSETS = 1 << 17 # at most, that `done` covers
        BYTES = 4_000
        private_constant :BYTES

        class << self
          # offset: of the commit. done: "1" for each offset from that one on whose message is done,
          # or "0". failures: FailureCounts by offset. epoch: the highest leader epoch that was
          # read. Returns nil if there is nothing to say.
          def write(offset, done: "", failures: {}, epoch: 0)
            done = done[..done.rindex("1")] if done.include?("1")
            plain = { "skep" => 1, "epoch" => epoch }
            plain["done"] = bitmap(done) if done.end_with?("1")
            plain["failed"] = fitting(offset, failures, BYTES - JSON.generate(plain).bytesize)
            plain.delete("failed") if plain["failed"].empty?
            JSON.generate(plain) if plain.size > 2
          end

          # Returns nil for a text of another program, or without one.
          def read(text, offset)
            plain = JSON.parse(text) if text&.start_with?('{"skep":1,')
            new(offset, plain) if plain
          rescue JSON::ParserError, Zlib::Error, ArgumentError, TypeError, NoMethodError
            nil # whoever has written it: its messages are processed again
          end

          private

          def bitmap(digits)
            Kernel.loop do
              text = [Zlib.deflate([digits].pack("b*"))].pack("m0")
              return text if text.bytesize <= BYTES * 3 / 4

              digits = digits[0, digits.size / 2]
            end
          end

          def fitting(offset, failures, bytes)
            now = OS.now
            found = failures.sort_by { |at, one| [-one.count, at] }.take_while do |at, one|
              bytes -= JSON.generate({ (at - offset).to_s => one.dump(now) }).bytesize
              bytes.positive?
            end
            found.to_h { |at, one| [(at - offset).to_s, one.dump(now)] }
          end
        end

        attr_reader :epoch
        attr_reader :failures

        def initialize(offset, plain)
          @offset, @epoch = offset, Integer(plain.fetch("epoch"))
          @done = plain["done"] ? digits(plain["done"]) : ""
          now = OS.now
          @failures = plain.fetch("failed", {}).to_h do |at, one|
            at = offset + Integer(at)
            [at, Failure::FailureCount.restore(at, one, now)]
          end
        end

        def done?(offset) = offset >= @offset && @done[offset - @offset] == "1"

        # The digits from that offset on.
        def done_from(offset) = @done[[offset - @offset, 0].max..] || ""

        # Returns true if nothing at that offset or after it is done.
        def over?(offset) = offset - @offset >= @done.size

        def inspect = "#<Skep::Kafka::Consumer::CommitMetadata from #{@offset}>"

        private

        def digits(text)
          Zlib.inflate(text.unpack1("m0")).unpack1("b*")[0, OFFSETS]
        end
      end
    end
  end
end
