# frozen_string_literal: true

require "json"

# Parses and checks what arrives over a control socket, before anything acts on it: another program
# may listen there, and a node's work may report anything.
#
#   Answer.parse("{\"v\":1,\"status\":{…}}")   # => {"v" => 1, "status" => {…}}; or InvalidAnswer
#   Answer.event("{\"seq\":3,\"event\":…}")    # => {"seq" => 3, "event" => …}; or InvalidAnswer
#   Answer.fits?(value, { "id" => Integer })   # Returns true if the value has that shape
#
# A shape is a class or a value (===), a Hash (each of its keys must fit, there may be others), an
# Array of one shape (of any number of those), or a lambda.
module Skep
  module Control
    module Answer
      module_function

      def fits?(value, shape)
        case shape
        when Hash
          value.is_a?(Hash) && shape.all? { |key, inner| fits?(value[key], inner) }
        when Array
          value.is_a?(Array) && value.all? { |one| fits?(one, shape.first) }
        else shape === value # rubocop:disable Style/CaseEquality -- a class, a value or a lambda
        end
      end

      # Returns a shape that fits what fits any of these.
      def any(*shapes) = ->(value) { shapes.any? { |shape| fits?(value, shape) } }

      def parse(text)
        raise InvalidAnswer, "it has ended" if text.empty?

        answer = json(text)
        raise InvalidAnswer unless fits?(answer, ANSWER)
        raise InvalidAnswer if answer.key?("status") && !fits?(answer["status"], STATUS)

        answer
      end

      # One line of those that followers read. An event's facts may have any names, such as status.
      def event(line)
        event = json(line)
        shape = event.is_a?(Hash) && event.key?("seq") ? EVENT : ANSWER
        fits?(event, shape) ? event : raise(InvalidAnswer)
      end

      def json(text)
        JSON.parse(text, max_nesting: false)
      rescue JSON::ParserError, SystemStackError # no JSON, or nested without end
        raise InvalidAnswer
      end

      ANSWER = { "v" => any(Integer, nil), "error" => any(String, nil) }.freeze

      # Numbers that can be rounded and added up: those of JSON may be infinite.
      NUMBER = ->(value) { value.is_a?(Numeric) && value.abs < 1e18 }
      MAYBE = any(NUMBER, nil)
      PID = ->(value) { value.is_a?(Integer) && value.between?(1, 2**31 - 1) }
      MEMORY = %w[rss pss uss shared swap].to_h { |kind| [kind, MAYBE] }.freeze
      NODE = { "id" => any(String, Integer), "pid" => any(PID, nil), "state" => String,
               "work_name" => any(String, nil),
               "restarts" => MAYBE, "beat_age" => MAYBE, "memory" => any(MEMORY, nil),
               "work" => Hash, "last_exit" => any(Hash, nil),
               "last_hang" => any(Hash, nil) }.freeze
      SUSPECT = { "crashes" => NUMBER, "alone" => NUMBER, "ends" => Array }.freeze
      PROBLEM = { "kind" => String, "level" => String, "subject" => String, "text" => String,
                  "since" => MAYBE, "at" => any(String, nil), "doing" => String,
                  "advice" => String }.freeze
      STATUS = { "name" => String, "pid" => any(PID, nil), "state" => String,
                 "uptime" => NUMBER, "nodes" => [NODE], "suspects" => any([SUSPECT], nil),
                 "works" => any([{ "totals" => any(Hash, nil), "name" => any(String, nil),
                                   "nodes" => MAYBE }], nil),
                 "problems" => any([PROBLEM], nil) }.freeze
      EVENT = { "seq" => Integer, "event" => String, "mono" => MAYBE,
                "pid" => any(PID, nil) }.freeze
      LINES = ->(lines) { lines.is_a?(Hash) && lines.each_value.all? { |one| fits?(one, [MAYBE]) } }
      HISTORY = { "run" => String, "seq" => Integer, "lost" => Integer,
                  "events" => ->(count) { count.is_a?(Integer) && !count.negative? },
                  "series" => any({ "at" => [NUMBER], "lines" => LINES }, nil) }.freeze
    end
  end
end
