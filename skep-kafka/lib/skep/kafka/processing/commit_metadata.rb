# frozen_string_literal: true

# What a commit says besides its offset: to which topic that belongs, which messages from there on
# are done, and how often others have failed alone. The partition's next owner doesn't use the
# offset of a topic that was created again since, doesn't process again what is done, and continues
# to count the failures.
#
#   text = CommitMetadata.write(40, done: "0101", failures: { 40 => failures }, epoch: 7, origin:)
#   found = CommitMetadata.read(text, 40)   # found.done?(43) => true
#
# Brokers accept 4,096 bytes (offset.metadata.max.bytes). So the text has the digits of `done` as a
# compressed bitmap, and leaves out what doesn't fit: offsets far beyond its own, failures of few
# tries. The text names its offset, since MirrorMaker copies it to other offsets of other clusters.
module Skep
  module Kafka
    module Processing
      class CommitMetadata
        OFFSETS = 1 << 20 # at most, that `done` covers
        BYTES = 4_000
        BITMAP = 3_000 # bytes of them
        PARTS = 512
        private_constant :BYTES, :BITMAP, :PARTS

        class << self
          # offset: of the commit. done: "1" for each offset from that one on whose message is done,
          # or "0". failures: FailureCounts by offset. epoch: the highest leader epoch that was
          # read. origin: an OffsetOrigin. Returns nil if there is nothing to say.
          def write(offset, done: "", failures: {}, epoch: 0, origin: nil)
            done = done[..done.rindex("1")] if done.include?("1")
            plain = { "skep" => 1, "at" => offset, "epoch" => epoch }
            plain["cluster"], plain["topic"] = *origin if origin
            plain["done"] = bitmap(done) if done.end_with?("1")
            failed = fitting(offset, failures, BYTES - JSON.generate(plain).bytesize)
            plain["failed"] = failed if failed.any?
            JSON.generate(plain) if plain.size > 3
          end

          # Returns the same as `write` without anything else to say, in less time.
          def label(offset, epoch, origin)
            "{\"skep\":1,\"at\":#{offset},\"epoch\":#{epoch},#{origin.json}}"
          end

          # Returns nil for a text of another program, or without one.
          def read(text, offset)
            plain = JSON.parse(text) if text&.start_with?('{"skep":1,')
            new(offset, plain) if plain && plain["at"] == offset
          rescue StandardError # any program that may commit for the group can have written it
            nil
          end

          private

          # Of digits that don't fit it has only the first ones.
          def bitmap(digits)
            text = compressed(digits, PARTS)
            return text if text.bytesize <= BITMAP

            too_many = (1..PARTS).bsearch { |part| compressed(digits, part).bytesize > BITMAP }
            compressed(digits, too_many - 1)
          end

          def compressed(digits, part)
            first = digits[0, digits.size * part / PARTS]
            [Zlib.deflate([first].pack("b*"))].pack("m0")
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

        attr_reader :offset
        attr_reader :epoch
        attr_reader :failures # FailureCounts by offset
        attr_reader :origin # nil in commits of versions that didn't write it

        def initialize(offset, plain)
          @offset, @epoch = offset, Integer(plain.fetch("epoch"))
          origin = OffsetOrigin.new(*plain.values_at("cluster", "topic"))
          @origin = origin if origin.all?(String)
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

        # How many offsets `done` covers from that one on; not positive: none.
        def left(offset) = @offset + @done.size - offset

        # Returns false if it says nothing of messages from that offset on, or of this log: one that
        # begins before it, or has a higher epoch, may have other messages.
        def about?(offset, epoch)
          offset.between?(@offset, @offset + @done.size - 1) && epoch <= @epoch
        end

        private

        # Whole bytes: the last one may have zeros that were no digits.
        def digits(text)
          digits = Zlib.inflate(text.unpack1("m0")).unpack1("b*")[0, OFFSETS]
          digits[..(digits.rindex("1") || -1)]
        end
      end
    end
  end
end
