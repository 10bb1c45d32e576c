# frozen_string_literal: true

require "delegate"

# The messages that processes send to the supervisor: for each type its fields, and what a field has
# to be. A message is checked where it is sent, and again where it is received, before anything acts
# on it or keeps it.
#
#   Messages::FROM_NODE.outgoing("event", fields, "event")  # => fields as plain data, or raises
#                                             # ArgumentError, whose backtrace begins at the caller
#   Messages::FROM_NODE.incoming(frame)       # => the frame with such fields, or raises Invalid
#   Messages.whole(3, "count takes")          # the same for what a node writes to the page
#
# Text is made valid UTF-8 and cut at 16 KiB. Facts are made plain (PlainData). What the supervisor
# calculates with, `totals` and `handler` of a work's facts, has to be numbers. A field that isn't
# in the table is left out; a type that isn't is invalid.
module Skep
  class Swarm
    module IPC
      class Messages
        FACTS_BYTES = 2 * 1024 * 1024 # of an event's facts, as JSON
        WORK_BYTES = 4 * 1024 * 1024  # of what a node tells of its work
        NAME_BYTES = 200
        TOTALS = 64
        GREATEST = 10**18 # a number that is added up: sums over any number of nodes stay finite
        MOST = (2**63) - 2 # an integer on the page
        YEARS = 3.2e9 # seconds
        LINES = 100
        THREADS = 100
        SUSPECTS = 1_000
        NAMES = 10_000
        LEVELS = %w[debug info warn error].freeze
        DELEGATOR = Delegator.instance_method(:method_missing).source_location.first
        OURS = ["#{File.dirname(__dir__)}/", "<internal:", DELEGATOR].freeze
        private_constant :NAME_BYTES, :TOTALS, :GREATEST, :MOST, :YEARS, :LINES, :THREADS,
                         :SUSPECTS, :NAMES, :LEVELS, :DELEGATOR, :OURS

        # The other process has sent what the table doesn't allow.
        class Invalid < Channel::ProtocolError
        end

        # What a field has to be, in words, and the block that returns it as plain data, or WRONG.
        class Check
          WRONG = Object.new.freeze

          def initialize(wanted, &read) #: (String) { (untyped) -> untyped } -> void
            @wanted, @read = wanted, read
          end

          # Raises Invalid.
          def of(value, name) #: (untyped, String) -> untyped
            plain = @read.call(value)
            return plain unless plain.equal?(WRONG)

            raise Invalid, "#{name} #{@wanted}, not #{Messages.shown(value)}"
          rescue PlainData::TooMuch => e
            raise Invalid, "#{name} must not be #{e.message}"
          end

          def or_nil = Check.new("#{@wanted}, or nil") { |one| one.nil? ? nil : @read.call(one) }
        end

        class << self
          # A text, or nil.
          def text(value, what) #: (untyped, String) -> String?
            case value
            when nil then nil
            when String then PlainData.text(value)
            when Symbol, Integer then PlainData.text(value.to_s)
            else refuse("#{what} a String or nil, not #{shown(value)}")
            end
          end

          # An integer from 0 on.
          def whole(value, what, most: MOST) #: (untyped, String, ?most: Integer) -> Integer
            return value if Integer === value && value.between?(0, most)

            refuse("#{what} an Integer from 0 to #{most}, not #{shown(value)}")
          end

          # Within a century.
          def seconds(value, what) #: (untyped, String) -> Float
            number = Numeric === value && value.real? ? value.to_f : Float::NAN
            return number.clamp(-YEARS, YEARS) if number.finite?

            refuse("#{what} a finite number of seconds, not #{shown(value)}")
          end

          # Raises ArgumentError in the line that called skep.
          def refuse(sentence) #: (String) -> bot
            raise ArgumentError, sentence, caller.drop_while { |line| line.start_with?(*OURS) }
          end

          def shown(value) #: (untyped) -> String
            case value
            when Hash, Array then "#{value.class} of #{value.size}"
            else PlainData.text(PlainData.described(value))[0, 60].scrub
            end
          end
        end

        #: (Hash[String, Hash[String, Check]]) -> void
        def initialize(table)
          @table = table.freeze
        end

        def types = @table.keys #: () -> Array[String]

        # what: how the caller knows it, for the sentence.
        #: (String, Hash[String, untyped], String) -> Hash[String, untyped]
        def outgoing(type, fields, what)
          check(type, fields)
        rescue Invalid => e
          Messages.refuse("#{what}: #{e.message}")
        end

        def incoming(frame) #: (Channel::Message) -> Channel::Message
          Channel::Message.new(frame.type, check(frame.type, frame.facts), frame.ios, frame.bytes)
        end

        private

        def check(type, fields)
          known = @table.fetch(type) do
            raise Invalid, "there is no message #{Messages.shown(type)}"
          end
          known.to_h { |name, check| [name, check.of(fields[name], name)] }
        end

        # Rules for fields.
        module Rules
          WRONG = Check::WRONG

          module_function

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

          def level(value) = LEVELS.find { |level| level == text(value) } || WRONG

          def facts(value, bytes) = Hash === value ? PlainData.bounded(value, bytes:) : WRONG

          # Each of so many as the block returns it.
          def list(value, most)
            return WRONG unless value.is_a?(Array)

            plain = value.first(most).map { |one| yield one }
            plain.include?(WRONG) ? WRONG : plain
          end

          def lines(value) = list(value, LINES) { |one| text(one) }
          def names(value) = list(value, NAMES) { |one| text(one) }
          def suspects(value) = list(value, SUSPECTS) { |one| suspect(one) }

          def suspect(value)
            return WRONG unless value.is_a?(Array) && value.size == 2

            in_hand, at = value
            in_hand.is_a?(String) && (at.nil? || whole?(at)) ? [text(in_hand), at] : WRONG
          end

          def threads(value)
            list(value, THREADS) do |one|
              one.is_a?(Hash) && one["backtrace"].is_a?(Array) ? thread(one) : WRONG
            end
          end

          def thread(one)
            tid = one["tid"]
            { "thread" => PlainData.text("#{one["thread"]}"), "tid" => whole?(tid) ? tid : nil,
              "status" => PlainData.text("#{one["status"]}"),
              "backtrace" => one["backtrace"].first(LINES).map { |line|
                PlainData.text("#{line}")
              } }
          end

          def work(value)
            facts = facts(value, WORK_BYTES)
            return WRONG if facts.equal?(WRONG)

            totals(facts["totals"]) if facts.key?("totals")
            handler(facts["handler"]) if facts.key?("handler")
            facts
          end

          def totals(totals)
            wrong("totals", "a Hash", totals) unless totals.is_a?(Hash)
            raise Invalid, "totals must not be more than #{TOTALS} numbers" if totals.size > TOTALS

            totals.each { |name, total| wrong("totals: #{name}", FINITE, total) unless sum?(total) }
          end

          def handler(handler)
            Stats::Histogram.plain?(handler) or wrong("handler", "what Histogram#to_plain returns",
                                                      handler)
          end

          def wrong(name, wanted, value)
            raise Invalid, "#{name} must be #{wanted}, not #{Messages.shown(value)}"
          end

          FINITE = "a finite number within #{GREATEST} of 0"

          # Can any number of these be added up?
          def sum?(value)
            (value.is_a?(Integer) || (value.is_a?(Float) && value.finite?)) && value.abs <= GREATEST
          end

          def flag(value) = [true, false].include?(value) ? value : WRONG
          def whole?(value) = value.is_a?(Integer) && value.between?(0, MOST)
        end

        TEXT = Check.new("must be a String") { |one| Rules.text(one) }
        NAME = Check.new("must be a String or Symbol of 1 to #{NAME_BYTES} bytes") do |one|
          Rules.name(one)
        end
        LEVEL = Check.new("must be debug, info, warn or error") { |one| Rules.level(one) }
        FACTS = Check.new("must be a Hash") { |one| Rules.facts(one, FACTS_BYTES) }
        WORK = Check.new("must be a Hash") { |one| Rules.work(one) }
        FLAG = Check.new("must be true or false") { |one| Rules.flag(one) }
        WHOLE = Check.new("must be an Integer from 0 on") do |one|
          Rules.whole?(one) ? one : Check::WRONG
        end
        SECONDS = Check.new("must be a number of seconds") do |one|
          Rules.sum?(one) && one >= 0 ? one : Check::WRONG
        end
        LINE_LIST = Check.new("must be an Array of Strings") { |one| Rules.lines(one) }
        NAME_LIST = Check.new("must be an Array of Strings") { |one| Rules.names(one) }
        THREAD_LIST = Check.new("must be an Array of threads") { |one| Rules.threads(one) }
        SUSPECT_LIST = Check.new("must be an Array of [in_hand, at]") { |one| Rules.suspects(one) }
        TASK_LIST = Check.new("must be an Array of Hashes") do |one|
          one.is_a?(Array) && one.all?(Hash) ? PlainData.bounded(one, bytes: FACTS_BYTES) : Check::WRONG
        end
        private_constant :Check, :Rules, :TEXT, :NAME, :LEVEL, :FACTS, :WORK, :FLAG, :WHOLE,
                         :SECONDS, :LINE_LIST, :NAME_LIST, :THREAD_LIST, :SUSPECT_LIST, :TASK_LIST

        # From a node, a spare or the helper.
        FROM_NODE = new(
          "ready" => {}, "warm" => {}, "leaving" => {}, "healthy" => {}, "became_mold" => {},
          "event" => { "name" => NAME, "level" => LEVEL, "facts" => FACTS },
          "joined" => { "joined" => FLAG, "facts" => FACTS },
          "unhealthy" => { "reason" => TEXT },
          "work" => { "facts" => WORK },
          "failed" => { "sentence" => TEXT, "backtrace" => LINE_LIST.or_nil,
                        "refused" => FLAG.or_nil, "exit_code" => WHOLE.or_nil },
          "judged" => { "suspects" => SUSPECT_LIST, "guilty" => FLAG },
          "backtraces" => { "threads" => THREAD_LIST },
          "unfit" => { "sentence" => TEXT },
          "spare" => {}, "stepped_in" => {},
          "ask" => { "number" => WHOLE }
        )

        FROM_MOLD = new(
          "loaded" => { "name" => TEXT, "options" => FACTS, "tasks" => TASK_LIST,
                        "events" => NAME_LIST },
          "refused" => { "sentence" => TEXT, "exit_code" => WHOLE.or_nil },
          "ready" => { "seconds" => SECONDS, "findings" => LINE_LIST, "warmup" => FACTS,
                       "passes_on" => FLAG.or_nil, "slots" => WHOLE },
          "pong" => {},
          "forked" => { "page_index" => WHOLE, "pid" => WHOLE },
          "fork_failed" => { "page_index" => WHOLE, "error" => TEXT },
          "exited" => { "page_index" => WHOLE, "pid" => WHOLE, "exitstatus" => WHOLE.or_nil,
                        "signal" => TEXT.or_nil }
        )
      end
    end
  end
end
