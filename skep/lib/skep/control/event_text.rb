# frozen_string_literal: true

require "json"
require "skep/plugin"

# The facts of an event as words for a line that may be cut: what failed, where and why comes first.
#
#   EventText.words(event)   # => ["orders/3@41", "at=app/order.rb:12", "error=…", "node=0", …]
module Skep
  module Control
    module EventText
      HIDDEN = %w[v seq time mono level event swarm threads tasks backtrace].freeze
      FIRST = %w[at error].freeze
      private_constant :HIDDEN, :FIRST

      module_function

      # except: further facts to leave out.
      def words(event, except: [])
        facts = event.except(*HIDDEN, *except).compact
        return pairs(facts) unless facts["error"]

        place, rest = Plugin.place(facts)
        [*place, *pairs(rest.slice(*FIRST)), *pairs(rest.except(*FIRST))]
      end

      def pairs(facts)
        facts.map do |name, value|
          "#{name}=#{value.is_a?(String) ? value : JSON.generate(value, max_nesting: 0)}"
        end
      end
      private_class_method :pairs
    end
  end
end
