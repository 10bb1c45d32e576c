# frozen_string_literal: true

require "skep/cli/tell"

# `skep scale [NAME] N`: so many nodes from here on.
module Skep
  module CLI
    class Scale < Tell
      PURPOSE = "more nodes, or fewer"
      USAGE = "skep scale [NAME] N"
      COMMAND = "scale"
      EXAMPLES = ["skep scale 8", "skep scale billing 2"].freeze

      private

      def perform
        @nodes = count
        super
      end

      def count
        text = @arguments.pop or raise Misuse, "the number of nodes is missing: usage: #{USAGE}"
        Integer(text, 10)
      rescue ArgumentError
        raise Misuse, "#{text.inspect} is no number of nodes: give a whole one, 1 or more"
      end

      def facts = { nodes: @nodes }
    end
  end
end
