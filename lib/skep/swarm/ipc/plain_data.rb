# frozen_string_literal: true

require "pathname"
require "skep/redaction"

# Plain data: what may cross a channel, a log or a socket. Hashes, arrays, strings (valid UTF-8),
# finite floats, integers of 64 bits, true, false, nil. Everything else becomes its `inspect`. A
# text is cut at 16 KiB.
#
#   PlainData.of(restart: :always, log: $stdout)
#   # => {"restart" => "always", "log" => "#<IO:<STDOUT>>"}
#   PlainData.bounded(facts, bytes: 1024)   # the same; raises TooMuch if it is larger or deeper
#   PlainData.bounded(facts, bytes: 1024, redact: true)   # the same, without secrets (Redaction)
#   PlainData.bounded(facts, bytes: 1024, redact: true, but: %w[totals])   # those stay as they are
#   PlainData.cut(facts, :rows, bytes: 1024)   # with as many elements of that list as fit
#   PlainData.error(error)                  # => "IOError: closed stream", whatever its message is
#   PlainData::Field::TEXT.of(3, "reason")  # a field of a message: raises Refused
module Skep
  class Swarm
    module IPC
      module PlainData
        TEXT = 16_384
        DEPTH = 32 # levels of hashes and arrays
        BITS = 64 # of an integer; a larger one becomes text
        DIGITS = 4096 # bits of an integer that is written out in that text
        EACH = 8 # bytes that a value counts at least
        ESCAPED = "\u0000-\u001f\"\\\\"
        private_constant :TEXT, :BITS, :DIGITS, :EACH, :ESCAPED

        # Too many bytes, or too many levels.
        class TooMuch < Skep::Error
        end

        # A field isn't what it has to be.
        class Refused < Skep::Error
        end

        # Converts facts and counts an upper bound of their size as JSON.
        class Walk
          def initialize(bytes, redact, but)
            @bytes = @left = bytes
            @redact = redact
            @but = but
            @keys = {} # the rows of a list have the same ones
          end

          # Scalars come first: nearly all values are, and a node reports tens of thousands.
          def of(value, depth = 0)
            case value
            when Integer, Float, true, false, nil then scalar(PlainData.scalar(value))
            when Hash
              deeper(depth)
              plain = {}
              value.each_pair do |key, held|
                name, secret = key(key)
                plain[name] =
                  if depth.zero? && @but.include?(name) then unredacted(held)
                  elsif secret && !held.nil? then text(Redaction::HIDDEN)
                  else of(held, depth + 1)
                  end
              end
              plain
            when Array
              deeper(depth)
              value.map { |held| of(held, depth + 1) }
            when String then text(value)
            else scalar(PlainData.of(value))
            end
          end

          # Returns the first elements of a list that is the value of a key, as many as fit.
          def as_many(list)
            kept = []
            list.each { |held| kept << of(held, 2) }
            kept
          rescue TooMuch
            kept
          end

          private

          def unredacted(value)
            redact, @redact, keys, @keys = @redact, false, @keys, {}
            of(value, 1)
          ensure
            @redact, @keys = redact, keys
          end

          def deeper(depth)
            raise TooMuch, "nested deeper than #{DEPTH} levels" if depth >= DEPTH

            count(EACH)
          end

          def scalar(plain)
            return text(plain) if plain.is_a?(String)

            count(EACH)
            plain
          end

          def text(value)
            text = PlainData.text(value.is_a?(String) ? value : "#{value}")
            text = Redaction.text(text) if @redact
            count(bytes(text))
            text
          end

          # Returns the key as text, and whether its value is a secret.
          def key(key)
            plain = key.is_a?(String) || key.is_a?(Symbol)
            examined = plain ? @keys[key] ||= examine(key) : examine(key)
            count(examined.last)
            examined
          end

          # Returns the key as text, whether its value is a secret, and the bytes of the text.
          def examine(key)
            text = PlainData.text("#{key}")
            text, secret = Redaction.name(text) if @redact
            [text, secret, bytes(text)]
          end

          # A character that JSON escapes takes six bytes.
          def bytes(text) = EACH + text.bytesize + (5 * text.count(ESCAPED))

          def count(bytes)
            @left -= bytes
            raise TooMuch, "larger than #{@bytes} bytes" if @left.negative?
          end
        end
        private_constant :Walk

        module_function

        def of(value)
          case value
          when Hash then value.to_h { |key, held| [text("#{key}"), of(held)] }
          when Array then value.map { |held| of(held) }
          when String then text(value)
          when Symbol, Pathname then text(value.to_s)
          when Float, Integer, true, false, nil then scalar(value)
          else text(described(value))
          end
        end

        # Of a number, true, false or nil.
        def scalar(value)
          case value
          when Integer then integer(value)
          when Float then value.finite? ? value : value.to_s
          else value
          end
        end

        def bounded(value, bytes:, redact: false, but: [])
          Walk.new(bytes, redact, but).of(value)
        end

        # Returns the facts with as many elements of the Array under that key as there is room for.
        # If some are left out, "KEY_left_out" says how many. Raises TooMuch if the rest is too
        # large.
        def cut(facts, key, bytes:, redact: false, but: [])
          list = facts.fetch(key)
          walk = Walk.new(bytes, redact, but)
          others = walk.of({ **facts.except(key), key => [], "#{key}_left_out": list.size })
          kept = walk.as_many(list)
          return { **others.except("#{key}_left_out"), "#{key}" => kept } if kept.size == list.size

          { **others, "#{key}" => kept, "#{key}_left_out" => list.size - kept.size }
        end

        # Returns valid UTF-8. Bytes without an encoding are read as UTF-8.
        def text(string)
          string = string.byteslice(0, TEXT) if string.bytesize > TEXT
          return string if string.encoding == Encoding::UTF_8 && string.valid_encoding?

          string = utf8(string).scrub
          string.bytesize > TEXT ? string.byteslice(0, TEXT).scrub("") : string
        end

        def error(error) = "#{error.class}: #{message(error)}"

        # Returns an error's message, without the lines of source that Ruby 3.1 adds to a
        # NameError's. It may be of any encoding or class, or raise.
        def message(error)
          text("#{error.respond_to?(:original_message) ? error.original_message : error.message}")
        rescue StandardError => e # the user's own method
          "its message raised #{e.class}"
        end

        # Returns the result of `inspect`, or the class if that raises.
        def described(value)
          "#{value.inspect}"
        rescue StandardError # BasicObject has none, others' are the user's own
          "#<#{Kernel.instance_method(:class).bind_call(value)}>"
        end

        # Returns a few words about a value, for an error.
        def shown(value)
          case value
          when Hash, Array then "#{value.class} of #{value.size}"
          else text(described(value))[0, 60].scrub
          end
        end

        def integer(value)
          return value if value.bit_length <= BITS

          value.bit_length > DIGITS ? "an integer of #{value.bit_length} bits" : value.to_s
        end

        def utf8(string)
          case string.encoding
          when Encoding::UTF_8 then string
          when Encoding::BINARY, Encoding::US_ASCII then string.dup.force_encoding(Encoding::UTF_8)
          else string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          end
        rescue EncodingError # one that Ruby can't convert, such as UTF-7
          string.dup.force_encoding(Encoding::UTF_8)
        end
        private_class_method :integer, :utf8

        # The rule for a field of a message: what it has to be, in words, and a block that returns
        # the value as plain data, or WRONG.
        class Field
          WRONG = Object.new.freeze
          NAME_BYTES = 200
          FACTS_BYTES = 2 * 1024 * 1024 # of an event's facts, as JSON
          WORK_BYTES = 4 * 1024 * 1024  # of a node's facts about its work
          MOST = (2**63) - 2 # an integer on the page
          GREATEST = 10**18 # a number that is added up: sums over any number of nodes stay finite
          FINITE = "a finite number within #{GREATEST} of 0"
          # The facts of a node's work that the supervisor adds up. They aren't redacted when they
          # are reported, because a count may have a name such as "tokens"; StatusReport removes
          # secrets from the sums. All other facts are redacted once, when they are reported: for
          # thousands of partitions, redacting them for each status took half a second.
          SUMS = %w[totals handler by_topic].freeze
          TOTALS = 64
          LINES = 100
          THREADS = 100
          SUSPECTS = 1_000
          NAMES = 10_000
          LEVELS = %w[debug info warn error].freeze
          private_constant :WRONG, :NAME_BYTES, :FACTS_BYTES, :WORK_BYTES, :GREATEST, :FINITE,
                           :TOTALS, :LINES, :THREADS, :SUSPECTS, :NAMES, :LEVELS

          attr_reader :wanted # "a String"

          def initialize(wanted, &read)
            @wanted, @read = wanted, read
          end

          # Returns the value as plain data, or raises Refused.
          def of(value, name)
            plain = @read.call(value)
            return plain unless plain.equal?(WRONG)

            raise Refused, "#{name} must be #{@wanted}, not #{PlainData.shown(value)}"
          rescue TooMuch => e
            raise Refused, "#{name} must not be #{e.message}"
          end

          def or_nil = Field.new("#{@wanted}, or nil") { |one| one.nil? ? nil : @read.call(one) }

          class << self
            # Returns facts about a node's work that WORK accepts: cut at that list (PlainData.cut).
            def work_within_limit(facts, key)
              PlainData.cut(facts, key, bytes: WORK_BYTES, redact: true, but: SUMS)
            end

            # An integer from 0 on that fits on the page.
            def whole?(value) = value.is_a?(Integer) && value.between?(0, MOST)

            private

            def text(value)
              case value
              when String then PlainData.text(value)
              when Symbol then PlainData.text(value.to_s)
              else WRONG
              end
            end

            def name(value)
              name = text(value)
              name.equal?(WRONG) || !name.bytesize.between?(1, NAME_BYTES) ? WRONG : name
            end

            def facts(value, bytes, **how)
              Hash === value ? PlainData.bounded(value, bytes:, **how) : WRONG
            end

            # Returns at most so many elements, each as the block returns it.
            def list(value, most)
              return WRONG unless value.is_a?(Array)

              plain = value.first(most).map { |one| yield one }
              plain.include?(WRONG) ? WRONG : plain
            end

            def item(value)
              return WRONG unless value.is_a?(Array) && value.size == 2

              in_flight, item = value
              return WRONG unless in_flight.is_a?(String) && (item.nil? || whole?(item))

              [text(in_flight), item]
            end

            def suspect(value)
              counts = value.values_at("crashes", "alone") if value.is_a?(Hash)
              lists = value.values_at("ends", "slots") if counts
              return WRONG unless counts&.all? { |count| whole?(count) } && lists.all?(Array) &&
                                  item(value.values_at("in_flight", "current_item")) != WRONG

              value["time"].is_a?(Numeric) ? value : WRONG
            end

            def thread(value)
              return WRONG unless value.is_a?(Hash) && value["backtrace"].is_a?(Array)

              lines = value["backtrace"].first(LINES).map { |line| PlainData.text("#{line}") }
              { "name" => PlainData.text("#{value["name"]}"),
                "tid" => (value["tid"] if whole?(value["tid"])),
                "status" => PlainData.text("#{value["status"]}"), "backtrace" => lines }
            end

            def work(value)
              facts = facts(value, WORK_BYTES, redact: true, but: SUMS)
              return WRONG if facts.equal?(WRONG)

              totals(facts["totals"]) if facts.key?("totals")
              handler(facts["handler"]) if facts.key?("handler")
              by_topic(facts["by_topic"]) if facts.key?("by_topic")
              facts
            end

            def totals(totals)
              refuse("totals", "a Hash", totals) unless totals.is_a?(Hash)
              if totals.size > TOTALS
                raise Refused, "totals must not be more than #{TOTALS} numbers"
              end

              totals.each do |name, total|
                refuse("totals: #{name}", FINITE, total) unless sum?(total)
              end
            end

            def handler(handler)
              Stats::Histogram.plain?(handler) or
                refuse("handler", "what Histogram#to_plain returns", handler)
            end

            # A list: as the name of a value, a topic such as "tokens" would make it a secret.
            def by_topic(rows)
              named = rows.is_a?(Array) && rows.all? do |row|
                row.is_a?(Hash) && row["topic"].is_a?(String)
              end
              refuse("by_topic", "a list of Hashes with a topic", rows) unless named
              rows.each do |row|
                totals(row["totals"])
                handler(row["handler"])
              end
            end

            def refuse(name, wanted, value)
              raise Refused, "#{name} must be #{wanted}, not #{PlainData.shown(value)}"
            end

            # Returns true if any number of such values can be added up.
            def sum?(value)
              number = value.is_a?(Integer) || (value.is_a?(Float) && value.finite?)
              number && value.abs <= GREATEST
            end
          end

          TEXT = new("a String") { |value| text(value) }
          NAME = new("a String or Symbol of 1 to #{NAME_BYTES} bytes") { |value| name(value) }
          LEVEL = new("debug, info, warn or error") do |value|
            LEVELS.find { |level| level == text(value) } || WRONG
          end
          FLAG = new("true or false") { |value| [true, false].include?(value) ? value : WRONG }
          WHOLE = new("an Integer from 0 on") { |value| whole?(value) ? value : WRONG }
          SECONDS = new("a number of seconds") do |value|
            sum?(value) && value >= 0 ? value : WRONG
          end
          FACTS = new("a Hash") { |value| facts(value, FACTS_BYTES) }
          WORK = new("a Hash") { |value| work(value) }
          LINE_LIST = new("an Array of Strings") { |value| list(value, LINES) { |one| text(one) } }
          NAME_LIST = new("an Array of Strings") { |value| list(value, NAMES) { |one| text(one) } }
          TASK_LIST = new("an Array of Hashes") do |value|
            whole = value.is_a?(Array) && value.all?(Hash)
            whole ? PlainData.bounded(value, bytes: FACTS_BYTES) : WRONG
          end
          THREAD_LIST = new("an Array of threads") do |value|
            list(value, THREADS) { |one| thread(one) }
          end
          ITEM_LIST = new("an Array of [in_flight, current_item]") do |value|
            list(value, SUSPECTS) { |one| item(one) }
          end
          SUSPECT_LIST = new("an Array of suspects") do |value|
            list(value, SUSPECTS) { |one| suspect(one) }
          end
          # The supervisor's own fields are plain data and within the bounds already.
          HASH = new("a Hash") { |value| value.is_a?(Hash) ? value : WRONG }
        end
      end
    end
  end
end
