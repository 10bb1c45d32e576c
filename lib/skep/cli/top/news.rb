# frozen_string_literal: true

# An event as a line: the time (UTC, as in the log), the name, its facts.
#
#   News.line(event)    # => pieces for Paint
module Skep
  module CLI
    class Top < Command
      module News
        LOOKS = { "warn" => :yellow, "error" => :red }.freeze
        LONG = %w[v seq time mono level event swarm threads tasks backtrace].freeze
        CLOCK = 11..18
        NAME = 18 # columns, where the name is no longer
        private_constant :LOOKS, :LONG, :CLOCK, :NAME

        module_function

        #: (Hash[String, untyped]) -> Array[[String, *Symbol?]]
        def line(event)
          facts = event.except(*LONG).compact.map { |name, value| "#{name}=#{word(value)}" }
          [["#{Text.clean(event["time"].to_s[CLOCK])} ", :dim],
           ["#{Text.ljust(Text.clean(event["event"]), NAME)} ", LOOKS[event["level"]]],
           [Text.clean(facts.join(" "))]]
        end

        def word(value) = value.is_a?(String) ? value : JSON.generate(value, max_nesting: 0)
      end
      private_constant :News
    end
  end
end
