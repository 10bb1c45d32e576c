# frozen_string_literal: true

# All that a frame is drawn of.
#
#   view = View.new(status:, figures:)
#   view.select(1)        # the next node
#   view.node             # => the selected one's facts
#   view.tell("done")     # a sentence for a while
module Skep
  module CLI
    class Top < Command
      class View
        EVENTS = 200 # that are kept
        private_constant :EVENTS

        attr_accessor :status  #: Hash[String, untyped]
        attr_accessor :figures #: Meter::Reading
        attr_accessor :trouble #: String?, why what is shown may be old
        attr_accessor :prompt  #: String?, what waits for a yes
        attr_accessor :panel   #: Panel?, what is shown instead
        attr_accessor :message #: String?
        attr_reader :events    #: Array[Hash[String, untyped]]
        attr_reader :selected  #: (Integer | String)?, a node's id

        def initialize(status:, figures:) #: (status: Hash, figures: Meter::Reading) -> void
          @status = status
          @figures = figures
          @events = []
          @selected = nodes.first&.fetch("id")
        end

        def nodes = status["nodes"] #: () -> Array[Hash[String, untyped]]

        # Those that are no spares.
        def slots = nodes.select { |node| node["id"].is_a?(Integer) } #: () -> Array[Hash]

        # Where the selected node stands; the first where it has gone.
        def index #: () -> Integer
          nodes.index { |node| node["id"] == selected } || 0
        end

        def node = nodes[index] #: () -> Hash[String, untyped]?

        def select(steps) #: (Integer) -> void
          return if nodes.empty?

          @selected = nodes[(index + steps).clamp(0, nodes.size - 1)]["id"]
        end

        # What is normal, step by step, isn't shown.
        def add(events) #: (Array[Hash[String, untyped]]) -> void
          @events.concat(events.reject { |event| event["level"] == "debug" })
          @events.shift(@events.size - EVENTS) if @events.size > EVENTS
        end
      end
      private_constant :View
    end
  end
end
