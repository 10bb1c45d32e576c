# frozen_string_literal: true

# How the demo writes numbers for people.
#
#   Words.number(200_000)      # => "200,000"
#   Words.count(1, "node")     # => "1 node"
#   Words.duration(75.2)       # => "1 min 15 s"
module Skep
  module CLI
    class Demo
      module Words
        class << self
          #: (Numeric) -> String
          def number(value) = value.round.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")

          #: (Integer, String) -> String
          def count(value, noun) = "#{number(value)} #{noun}#{"s" unless value == 1}"

          def duration(seconds) #: (Numeric) -> String
            minutes, rest = seconds.round.divmod(60)
            minutes.zero? ? "#{rest} s" : "#{minutes} min #{rest} s"
          end

          def milliseconds(value) = value ? "#{number(value)} ms" : "-" #: (Numeric?) -> String
        end
      end
      private_constant :Words
    end
  end
end
