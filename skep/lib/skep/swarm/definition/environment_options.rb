# frozen_string_literal: true

# Option values from the environment: SKEP_<OPTION>, such as SKEP_STOP_TIMEOUT=10. They take
# precedence over the swarm file; the command line takes precedence over them.
#
#   EnvironmentOptions.read(ENV)   # => { "stop_timeout" => #<struct Given … "SKEP_STOP_TIMEOUT"> }
#
# Other variables that begin with SKEP_ are ignored, and so is an empty value.
module Skep
  class Swarm
    module Definition
      module EnvironmentOptions
        PREFIX = "SKEP_"

        # One value, with the variable that it comes from for an error's sentence.
        Given = Struct.new(:option, :variable, :text) do
          # Returns the text, or what it means if the option takes no text: a number or a list
          # of numbers.
          def value
            return text unless Config::Options::ALL.fetch(option).read(text).nil?

            numbers = text.split(",").map { |part| number(part) }
            numbers.one? ? numbers.first : numbers
          end

          private

          def number(part)
            Integer(part, 10, exception: false) || Float(part, exception: false) || part
          end
        end

        # Returns the values by option name, as Config takes them.
        def self.read(environment = ENV)
          Config::Options::ALL.each_key.with_object({}) do |option, found|
            variable = "#{PREFIX}#{option.upcase}"
            text = environment[variable].to_s
            found[option.to_s] = Given.new(option, variable, text) unless text.empty?
          end
        end
      end
    end
  end
end
