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

      # except: further facts to leave out. A hang has the line at which its thread was.
      def words(event, except: [])
        facts = event.except(*HIDDEN, *except).compact
        line = line_of_hang(event)
        facts = { "at" => line, **facts } if line
        return pairs(facts) unless facts["error"] || line

        place, rest = Plugin.place(facts)
        [*place, *pairs(rest.slice(*FIRST)), *pairs(rest.except(*FIRST))]
      end

      # Of the first thread: the one that hangs.
      def line_of_hang(event)
        thread = Array(event["threads"]).first if event["event"] == "node_hung"
        line = Array(thread["backtrace"]).first if thread.is_a?(Hash)
        line if line.is_a?(String)
      end

      def pairs(facts)
        facts.map do |name, value|
          "#{name}=#{value.is_a?(String) ? value : JSON.generate(value, max_nesting: 0)}"
        end
      end
      private_class_method :line_of_hang, :pairs
    end
  end
end
