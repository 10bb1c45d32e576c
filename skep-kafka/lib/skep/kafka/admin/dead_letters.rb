# frozen_string_literal: true

# The dead letters in a topic: lists them, writes them back to where they came from, deletes them.
#
#   Skep::Kafka.dead_letters("orders.dead", { "bootstrap.servers": "kafka-1:9092" }) do |letters|
#     letters.groups                     # => [{ error:, topic:, count:, oldest:, newest:, … }]
#     letters.each { |letter| … }        # => DeadLetterMessage
#     letters.replay(error: "Timeout", rate: 100)   # => { replayed: 12, failed: 0, kept: 3, … }
#     letters.purge(topic: "orders")     # => { deleted: 3, kept: 0, unknown: 0 }
#   end
#
# Kafka deletes only from the beginning of a partition, so letters that stay before a replayed one
# are written again, to its end. If the program dies, no letter is lost. Up to CHUNK letters may be
# there, or be replayed, twice.
module Skep
  module Kafka
    module Admin
      # A message of a dead letter topic.
      class DeadLetterMessage
        REPLAYS = "skep.replays" # the header that counts them
        OWN = /\Askep\.(topic|partition|offset|error|error_at|attempts|crashes|host|revision)\z/
        DIGITS = 19 # of the largest offset
        private_constant :OWN, :DIGITS

        attr_reader :message

        def initialize(message) = @message = message

        def topic = text("skep.topic") # that it comes from; nil if skep didn't write it
        def partition = number("skep.partition") # the number there
        def offset = number("skep.offset") # the offset there
        def error = text("skep.error").to_s # class and message
        def error_at = text("skep.error_at") # file and line that raised it; nil if unknown
        def attempts = number("skep.attempts") # how often it failed
        def crashes = number("skep.crashes") # how often it crashed its node; nil: it didn't
        def host = text("skep.host") # of the node
        def revision = text("skep.revision") # of the code that failed; nil if unknown
        def replays = number(REPLAYS).to_i # how often it was written back before

        # The error's class, as a name.
        def error_class = error[/\A\p{Upper}\p{Word}*(::\p{Upper}\p{Word}*)*/] || "unknown"

        # Where it is, such as "orders.dead/0/12".
        def place = "#{message.topic}/#{message.partition}/#{message.offset}"

        # Where the message was, such as "orders/3/41"; nil if skep didn't write it.
        def origin = topic && "#{topic}/#{partition}/#{offset}"

        # Returns true if it fits all that is given. error: a part of the error. topic: the one that
        # it comes from, or `origin`, or that without the offset. letter: its place.
        def fits?(error: nil, topic: nil, key: nil, letter: nil)
          (error.nil? || self.error.b.include?(error.b)) && (topic.nil? || from?(topic)) &&
            (key.nil? || message.key == key.b) && (letter.nil? || place == letter)
        end

        # The headers of the message that it was, and how often it was replayed.
        def headers
          own = message.headers.reject { |name, _| name.b.match?(OWN) }
          { **own, REPLAYS => (replays + 1).to_s }
        end

        def inspect
          "#<Skep::Kafka::Admin::DeadLetterMessage of #{topic}/#{partition}/#{offset}>"
        end

        private

        # (A topic's name has no slash.)
        def from?(place) = [topic, "#{topic}/#{partition}", origin].include?(place)

        def number(name)
          text = text(name)
          Integer(text, exception: false) if text && text.size <= DIGITS
        end

        # A repeated header is an Array.
        def text(name)
          Array(message.headers[name]).last&.dup&.force_encoding(Encoding::UTF_8)&.scrub
        end
      end

      class DeadLetters
        CHUNK = 500 # letters that are in flight at a time
        SECONDS = 30 # for their delivery
        CHUNK_SECONDS = 5.0 # after which a chunk ends that has fewer letters
        MAX_REPLAYS = 3 # of a letter, by default
        # What is deleted here must be there: each message is sent at once, to all in-sync replicas.
        OWN = { "acks" => "all", "linger.ms" => "0" }.freeze
        REPLACED = [*Producer::LINGER_SETTINGS, "acks", "request.required.acks"].freeze
        private_constant :CHUNK, :SECONDS, :CHUNK_SECONDS, :OWN, :REPLACED

        # For the cluster of these settings, a ClientConfig.
        def self.producer(settings)
          Producer.new({ **settings.producer.except(*REPLACED), **OWN })
        end

        # scan: a TopicScan that is connected; producer: made at its first use.
        def initialize(scan, &producer)
          @scan, @make_producer = scan, producer
          @pause = Threads::Inbox.new # stays empty: only its timeout is used
        end

        # Yields each letter that fits (DeadLetterMessage#fits?), by partition and offset.
        def each(**filter)
          return enum_for(:each, **filter) unless block_given?

          @scan.bounds.each do |number, range|
            @scan.each(number, range) do |message|
              letter = DeadLetterMessage.new(message)
              yield letter if letter.fits?(**filter)
            end
          end
        end

        # The letters by the class of their error and the topic they come from, most frequent first.
        def groups(**filter)
          found = Hash.new { |hash, key| hash[key] = { count: 0 } }
          each(**filter) do |letter|
            group = found[[letter.error_class, letter.topic]]
            time = letter.message.timestamp
            group[:oldest] = [group[:oldest], time].compact.min
            group[:newest] = [group[:newest], time].compact.max
            group[:count] += 1
            group[:example] ||= letter.error
          end
          found.map { |(error, topic), facts| { error:, topic:, **facts } }
               .sort_by { |group| [-group[:count], group[:error]] }
        end

        # Writes letters back to the partitions that they come from, or to another topic, and
        # deletes them here. Returns { replayed:, failed:, kept:, held:, unknown: }. All but the
        # first stay: failed couldn't be written, held were replayed `max_replays` times already,
        # and of the unknown the topic or partition is unknown, or doesn't exist any more.
        #
        # rate: letters a second; dry_run: only counts.
        def replay(to: nil, rate: nil, limit: nil, max_replays: MAX_REPLAYS, dry_run: false,
                   **filter)
          check(to, rate)
          counts = { replayed: 0, failed: 0, kept: 0, held: 0, unknown: 0 }
          judge = lambda do |letter|
            next :kept unless letter.fits?(**filter) && (limit.nil? || counts[:replayed] < limit)
            next :held if letter.replays >= max_replays

            to || known?(letter) ? :replayed : :unknown
          end
          sort_out(counts, judge, :replayed, rate:, dry_run:) { |letter| write_back(letter, to) }
        end

        # Deletes letters. Returns { deleted:, kept:, unknown: }. The unknown stay: skep didn't
        # write them as dead letters, so the topic may be another than was meant. With
        # `unknown: true` they are deleted, too.
        def purge(limit: nil, unknown: false, dry_run: false, **filter)
          counts = { deleted: 0, kept: 0, unknown: 0 }
          judge = lambda do |letter|
            next :kept unless letter.fits?(**filter) && (limit.nil? || counts[:deleted] < limit)

            unknown || letter.topic ? :deleted : :unknown
          end
          sort_out(counts, judge, :deleted, dry_run:) { nil }
        end

        # Closes the producer.
        def close = @producer&.close

        def inspect = "#<Skep::Kafka::Admin::DeadLetters #{@scan.topic}>"

        private

        def check(to, rate)
          if to == @scan.topic
            raise ArgumentError, "to: must be another topic than #{to}, which is being replayed"
          end
          return if rate.nil? || (rate.is_a?(Numeric) && rate.real? && rate.positive?)

          raise ArgumentError, "rate: must be letters a second, more than 0 (got #{rate.inspect})"
        end

        # Brokers would make a deleted topic again, and no consumer would read it.
        def known?(letter)
          topic, partition = letter.topic, letter.partition
          return false if topic.nil? || partition.nil? || topic == @scan.topic

          @partitions[topic] ||= valid?(topic) && @scan.partitions(topic) || 0
          partition.between?(0, @partitions[topic] - 1)
        end

        def valid?(topic) = topic.match?(/\A[a-zA-Z0-9._-]{1,249}\z/)

        # judge: says of each letter what becomes of it, a name in counts. Those of the name `goes`
        # are yielded and deleted. Up to the last one of a partition the others are written again,
        # to its end; what is behind it stays where it is.
        def sort_out(counts, judge, goes, dry_run:, rate: nil, &block)
          @began = OS.now
          @done = 0
          @partitions = {}
          @scan.bounds.each do |number, range|
            verdicts = {}
            @scan.each(number, range) do |message|
              verdict = judge.call(DeadLetterMessage.new(message))
              counts[verdict] += 1
              verdicts[message.offset] = verdict
            end
            border = verdicts.select { |_, verdict| verdict == goes }.keys.last or next
            next if dry_run

            range = range.begin..border
            found, failed = carry_out(number, range, verdicts, goes, rate, &block)
            counts[goes] -= verdicts.each_value.count(goes) - found + failed
            counts[:failed] += failed if failed.positive?
          end
          counts
        end

        # In chunks, so that a program that dies repeats only the last one. Returns how many letters
        # of `goes` were there, and how many of them couldn't be written. The topic's retention, or
        # another program, may have deleted some since they were counted.
        def carry_out(number, range, verdicts, goes, rate, &block)
          @scan.delete_before(number, range.begin) # if it is refused, none of them has been written
          chunk = []
          found = failed = 0
          @chunk_until = OS.now + CHUNK_SECONDS
          @scan.each(number, range.begin...(range.end + 1)) do |message|
            going = verdicts[message.offset] == goes
            found += 1 if going
            chunk << [message, going, begin_writing(message, going, &block)]
            await_turn(rate) if going && rate
            failed += settle(number, chunk) if full?(chunk)
          end
          failed += settle(number, chunk) if chunk.any?
          [found, failed]
        end

        # Deletes a chunk's letters once they are written. Returns how many couldn't be written.
        def settle(number, chunk)
          border = chunk.last.first.offset + 1
          deliver(chunk).tap { @scan.delete_before(number, border) }
        end

        def full?(chunk) = chunk.size >= CHUNK || OS.now > @chunk_until

        # Returns the handle of a message that is written, or the error that kept it from that.
        def begin_writing(message, going)
          going ? yield(DeadLetterMessage.new(message)) : write_again(message)
        rescue DeliveryFailed => e
          e
        end

        # A letter that can't be written back stays: it is written again, to the end. Returns how
        # many those were. Raises DeliveryFailed if that fails, too.
        def deliver(chunk)
          failed = chunk.select { |_, going, handle| handle && !delivered?(handle, going) }
          again = failed.map { |message, _, _| write_again(message) }
          again.each { |handle| handle.wait(timeout: SECONDS) }
          chunk.clear
          @chunk_until = OS.now + CHUNK_SECONDS
          failed.size
        end

        def delivered?(handle, going)
          raise handle if handle.is_a?(DeliveryFailed)

          handle.wait(timeout: SECONDS)
        rescue DeliveryFailed
          raise unless going

          false
        end

        # Waits until so many letters a second have been written.
        def await_turn(rate)
          @done += 1
          left = @began + (@done / rate.to_f) - OS.now
          @pause.pop(timeout: left) if left.positive?
        end

        # (`produce` would add the trace of this program.)
        def write_back(letter, to)
          message = letter.message
          place = to ? {} : { partition: letter.partition }
          producer.__produce(to || letter.topic, message.payload, key: message.key, claimed: true,
                                                                  headers: letter.headers, **place)
        end

        def write_again(message)
          producer.__produce(message.topic, message.payload,
                             key: message.key, headers: message.headers, claimed: true,
                             partition: message.partition, timestamp: message.timestamp)
        end

        def producer = @producer ||= @make_producer.call
      end
    end

    # Yields the DeadLetters of a topic, and returns what the block returns. seconds: how long to
    # wait for a broker each time. Raises ConfigurationError, BrokerUnreachable, AuthorizationError
    # or UnknownTopic; replay and purge may raise DeletionRefused or DeliveryFailed.
    def self.dead_letters(topic, kafka, seconds: 15)
      settings = Config::ClientConfig.new(kafka)
      raise ConfigurationError.new(sentences: settings.errors) if settings.errors.any?

      scan = Admin::TopicScan.new(topic, settings, seconds:)
      scan.connect
      letters = Admin::DeadLetters.new(scan) { Admin::DeadLetters.producer(settings) }
      yield letters
    ensure
      letters&.close
      scan&.close
    end
  end
end
