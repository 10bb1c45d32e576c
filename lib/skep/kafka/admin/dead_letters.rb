# frozen_string_literal: true

# The dead letters in a topic: lists them, writes them back to where they came from, deletes them.
#
#   Skep::Kafka.dead_letters("orders.dead", { "bootstrap.servers": "kafka-1:9092" }) do |letters|
#     letters.groups                     # => [{ error:, topic:, count:, oldest:, newest:, … }]
#     letters.each { |letter| … }        # => DeadLetterMessage
#     letters.replay(error: "Timeout", rate: 100)   # => { replayed: 12, kept: 3, … }
#     letters.purge(topic: "orders")     # => { deleted: 3, kept: 0 }
#   end
#
# A letter that has been dealt with is deleted. Kafka deletes from the beginning of a partition
# alone, so letters that stay are written again to the end of theirs. The program may die at any
# time: no letter is lost, and some may be there, or be replayed, twice.
module Skep
  module Kafka
    module Admin
      # A message of a dead letter topic.
      class DeadLetterMessage
        REPLAYS = "skep.replays"
        OWN = /\Askep\.(topic|partition|offset|error|attempts|crashes|host)\z/
        private_constant :OWN

        attr_reader :message

        def initialize(message) = @message = message

        def topic = text("skep.topic") # nil if skep didn't write it
        def partition = number("skep.partition")
        def offset = number("skep.offset")
        def error = text("skep.error").to_s
        def attempts = number("skep.attempts")
        def crashes = number("skep.crashes")
        def host = text("skep.host")
        def replays = number(REPLAYS).to_i # how often it was written back before

        # The error's class, as a name.
        def error_class = error[/\A[A-Z]\w*(::[A-Z]\w*)*/] || "unknown"

        # Returns true if it fits all that is given. error: a part of the error.
        def fits?(error: nil, topic: nil, key: nil)
          (error.nil? || self.error.include?(error)) && (topic.nil? || self.topic == topic) &&
            (key.nil? || message.key == key.b)
        end

        # The headers of the message that it was, and how often it was replayed.
        def headers
          own = message.headers.reject { |name, _| name.match?(OWN) }
          { **own, REPLAYS => (replays + 1).to_s }
        end

        def inspect
          "#<Skep::Kafka::Admin::DeadLetterMessage of #{topic}/#{partition}/#{offset}>"
        end

        private

        def number(name) = text(name)&.then { |text| Integer(text, exception: false) }

        # A repeated header is an Array.
        def text(name)
          Array(message.headers[name]).last&.dup&.force_encoding(Encoding::UTF_8)&.scrub
        end
      end

      class DeadLetters
        CHUNK = 500 # letters that are in flight at a time
        SECONDS = 30 # for their delivery
        MAX_REPLAYS = 3
        private_constant :CHUNK, :SECONDS

        # scan: a TopicScan that is connected; producer: made at its first use.
        def initialize(scan, &producer)
          @scan, @make_producer = scan, producer
          @pause = Threads::Inbox.new # stays empty: only its timeout is used
        end

        # Yields each letter that fits (DeadLetterMessage#fits?), by partition and offset.
        def each(**filter)
          return enum_for(:each, **filter) unless block_given?

          @scan.ends.each do |number, last|
            @scan.each(number, last) do |message|
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
        # deletes them here. Returns { replayed:, kept:, held:, unknown: }: held were replayed
        # `max_replays` times already, and of the unknown it isn't known where they come from.
        #
        # rate: letters a second; dry_run: only counts.
        def replay(to: nil, rate: nil, limit: nil, max_replays: MAX_REPLAYS, dry_run: false,
                   **filter)
          counts = { replayed: 0, kept: 0, held: 0, unknown: 0 }
          judge = lambda do |letter|
            next :kept unless letter.fits?(**filter) && (limit.nil? || counts[:replayed] < limit)
            next :held if letter.replays >= max_replays

            to || letter.topic ? :replayed : :unknown
          end
          sort_out(counts, judge, :replayed, rate:, dry_run:) { |letter| write_back(letter, to) }
        end

        # Deletes letters. Returns { deleted:, kept: }.
        def purge(limit: nil, dry_run: false, **filter)
          counts = { deleted: 0, kept: 0 }
          judge = lambda do |letter|
            letter.fits?(**filter) && (limit.nil? || counts[:deleted] < limit) ? :deleted : :kept
          end
          sort_out(counts, judge, :deleted, dry_run:) { nil }
        end

        def close = @producer&.close

        def inspect = "#<Skep::Kafka::Admin::DeadLetters #{@scan.topic}>"

        private

        # judge: says of each letter what becomes of it, a name in counts. Those of the name `goes`
        # are yielded and deleted. Up to the last one of a partition the others are written again,
        # to its end; what is behind it stays where it is.
        def sort_out(counts, judge, goes, dry_run:, rate: nil, &block)
          @began = OS.now
          @done = 0
          @scan.ends.each do |number, last|
            verdicts = {}
            @scan.each(number, last) do |message|
              verdict = judge.call(DeadLetterMessage.new(message))
              counts[verdict] += 1
              verdicts[message.offset] = verdict
            end
            border = verdicts.select { |_, verdict| verdict == goes }.keys.last or next
            next if dry_run

            carry_out(number, border, verdicts, goes, rate, &block)
          end
          counts
        end

        # In chunks, so that a program that dies repeats only the last one.
        def carry_out(number, border, verdicts, goes, rate, &)
          handles = []
          @scan.each(number, border + 1) do |message|
            going = verdicts[message.offset] == goes
            handles << (going ? yield(DeadLetterMessage.new(message)) : write_again(message))
            await_turn(rate) if going && rate
            next unless handles.size >= CHUNK || message.offset == border

            deliver(handles)
            @scan.delete_before(number, message.offset + 1)
          end
        end

        def deliver(handles)
          handles.compact.each { |handle| handle.wait(timeout: SECONDS) }
          handles.clear
        end

        # Waits until so many letters a second have been written.
        def await_turn(rate)
          @done += 1
          left = @began + (@done / rate.to_f) - OS.now
          @pause.pop(timeout: left) if left.positive?
        end

        def write_back(letter, to)
          message = letter.message
          place = to ? {} : { partition: letter.partition }
          producer.produce(to || letter.topic, message.payload, key: message.key,
                                                                headers: letter.headers, **place)
        end

        def write_again(message)
          producer.produce(message.topic, message.payload,
                           key: message.key, headers: message.headers,
                           partition: message.partition, timestamp: message.timestamp)
        end

        def producer = @producer ||= @make_producer.call
      end
    end

    # Yields the DeadLetters of a topic, and returns what the block returns. seconds: how long to
    # wait for a broker each time. Raises ConfigurationError, BrokerUnreachable, AuthorizationError
    # or UnknownTopic; replay and purge may raise DeliveryFailed.
    def self.dead_letters(topic, kafka, seconds: 15)
      settings = Config::ClientConfig.new(kafka)
      raise ConfigurationError.new(sentences: settings.errors) if settings.errors.any?

      scan = Admin::TopicScan.new(topic, settings, seconds:)
      scan.connect
      letters = Admin::DeadLetters.new(scan) { Producer.new(kafka) }
      yield letters
    ensure
      letters&.close
      scan&.close
    end
  end
end
