# frozen_string_literal: true

require "delegate"

# Checks what a user's code passes to a node, and returns the fields of its message as plain data.
# Raises ArgumentError, whose backtrace begins in the user's line.
#
#   Arguments.event(:paid, :info, { amount: 3 })
#   # => { "name" => "paid", "level" => "info", "facts" => { "amount" => 3 } }
#   Arguments.whole(3, "processed takes")   # => 3: what a node writes to the page
module Skep
  class Swarm
    module IPC
      module Arguments
        YEARS = 3.2e9 # seconds
        MOST = (2**63) - 2 # an integer on the page
        NAME_BYTES = 200
        FACTS_BYTES = 2 * 1024 * 1024 # of an event, as JSON
        DELEGATOR = Delegator.instance_method(:method_missing).source_location.first
        OURS = ["#{File.dirname(__dir__)}/", "<internal:", DELEGATOR].freeze
        private_constant :YEARS, :NAME_BYTES, :FACTS_BYTES, :DELEGATOR, :OURS

        module_function

        def event(name, level, facts)
          { "name" => name(name), "level" => level(level), "facts" => facts(facts, "event") }
        end

        def assigned(assigned, facts)
          known = [true, false].any? { |flag| flag.equal?(assigned) }
          must("assigned!: assigned", "true or false", assigned) unless known
          { "assigned" => assigned, "facts" => facts(facts, "assigned!") }
        end

        def unhealthy(reason)
          text = name_text(reason) or must("unhealthy!: reason", "a String", reason)
          { "reason" => text }
        end

        def work(facts)
          must("work=: facts", "a Hash", facts) unless Hash === facts
          plain = bounded("work=") { WorkFacts.of(facts) }
          fault = WorkFacts.fault(plain)
          fault ? refuse("work=: #{fault}") : { "facts" => plain }
        end

        # Returns a text, or nil.
        def text(value, what)
          case value
          when nil then nil
          when String then PlainData.text(value)
          when Symbol, Integer then PlainData.text(value.to_s)
          else refuse("#{what} a String or nil, not #{PlainData.shown(value)}")
          end
        end

        # Returns an integer from 0 on.
        def whole(value, what, most: MOST)
          return value if Integer === value && value.between?(0, most)

          refuse("#{what} an Integer from 0 to #{most}, not #{PlainData.shown(value)}")
        end

        # Returns seconds, at most a century.
        def seconds(value, what)
          number = Numeric === value && value.real? ? value.to_f : Float::NAN
          return number.clamp(-YEARS, YEARS) if number.finite?

          refuse("#{what} a finite number of seconds, not #{PlainData.shown(value)}")
        end

        def name(value)
          name = name_text(value)
          return name if name && name.bytesize.between?(1, NAME_BYTES)

          must("event: name", "a String or Symbol of 1 to #{NAME_BYTES} bytes", value)
        end

        def level(value)
          text = name_text(value)
          return text if Messages::LEVELS.include?(text)

          must("event: level", "debug, info, warn or error", value)
        end

        def facts(facts, what)
          bounded(what) { PlainData.bounded(facts, bytes: FACTS_BYTES) }
        end

        def bounded(what)
          yield
        rescue PlainData::TooMuch => e
          refuse("#{what}: facts must not be #{e.message}")
        end

        def name_text(value)
          case value
          when String then PlainData.text(value)
          when Symbol then PlainData.text(value.to_s)
          end
        end

        def must(what, wanted, value)
          refuse("#{what} must be #{wanted}, not #{PlainData.shown(value)}")
        end

        def refuse(sentence)
          raise ArgumentError, sentence, caller.drop_while { |line| line.start_with?(*OURS) }
        end
        private_class_method :name, :level, :facts, :bounded, :name_text, :must, :refuse
      end
    end
  end
end
