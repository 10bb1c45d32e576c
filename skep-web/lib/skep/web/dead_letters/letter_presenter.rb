# frozen_string_literal: true

module Skep
  class Web
    class DeadLetters
      # A dead letter, or a group of them, as the page shows it: plain data of limited size, all of
      # it valid UTF-8. What isn't text is shown in base64.
      #
      #   LetterPresenter.letter(letter)   # => { letter: "orders.dead/0/12", payload: "…", … }
      #   LetterPresenter.group(group)     # => { error: "Timeout", from: "orders", count: 3, … }
      module LetterPresenter
        TEXT = 2_000 # characters of a payload, a key or an error
        SHORT = 200 # of a header, and of a group's texts
        TOPIC = 249
        HEADERS = 50
        private_constant :TEXT, :SHORT, :TOPIC, :HEADERS

        module_function

        def letter(letter)
          message = letter.message
          { letter: "#{message.topic}/#{message.partition}/#{message.offset}",
            from: (cut(place(letter), SHORT) if letter.topic), time: time(message.timestamp),
            host: cut(letter.host, SHORT), revision: cut(letter.revision, SHORT),
            attempts: letter.attempts, crashes: letter.crashes,
            replays: letter.replays, error: cut(letter.error, TEXT),
            at: cut(letter.error_at, SHORT),
            **content(:key, message.key), headers: headers(message),
            bytes: message.payload&.bytesize, **content(:payload, message.payload) }.compact
        end

        def group(group)
          { error: cut(group[:error], SHORT), from: cut(group[:topic], TOPIC),
            count: group[:count], oldest: time(group[:oldest]), newest: time(group[:newest]),
            example: cut(group[:example], SHORT) }.compact
        end

        def place(letter) = [letter.topic, letter.partition, letter.offset].join("/")

        # nil for a year that browsers can't show: the producer gave it another unit.
        def time(time)
          time = time&.getutc
          time.strftime("%FT%T.%LZ") if time && time.year <= 9999
        end

        # The message's own, without those of the dead letter.
        def headers(message)
          own = message.headers.reject { |name, _| name.b.start_with?("skep.") }
          own.first(HEADERS).to_h do |name, value|
            [cut(text(name), SHORT), cut(Array(value).map { |one| text(one) }.join(", "), SHORT)]
          end
        end

        def content(name, bytes)
          text = bytes&.dup&.force_encoding(Encoding::UTF_8)
          return { name => cut(text, TEXT) } if text.nil? || text.valid_encoding?

          # Three bytes are four characters: no more of it is encoded than is shown.
          { "#{name}_base64": cut([bytes.byteslice(0, TEXT)].pack("m0"), TEXT) }
        end

        def text(bytes) = bytes.to_s.dup.force_encoding(Encoding::UTF_8).scrub
        def cut(text, size) = text && text.size > size ? "#{text[0, size]}…" : text
      end
    end
  end
end
