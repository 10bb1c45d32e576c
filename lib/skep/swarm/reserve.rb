# frozen_string_literal: true

# The seat of a spare: a node that has booted and waits for another's seat (its own view is
# Standby).
#
#   reserve = Reserve.new(0) { seats }    # the block: which seats it is to watch
#   reserve.vacate(node)                  # its spare has stepped in elsewhere
#
# It is booted, renewed and stopped as others are, and counts as none.
module Skep
  class Swarm
    class Reserve < Seat
      attr_reader :number #: Integer

      def initialize(number, &seats) #: (Integer) { () -> Array[Seat] } -> void
        super(nil, nil)
        @number = number
        @seats = seats
      end

      def label = "spare #{number}" #: () -> String
      def spare? = true #: () -> bool
      def birth = { "node" => nil, "spare" => true, "seats" => watched } #: () -> Hash

      # The spare that waits in it, if it does.
      def spare = nodes.find { |node| node.state == :spare } #: () -> Node?

      # What its spare watches: [id, kind of work]; several spares begin at several places, as one
      # can't watch any number.
      def watched #: () -> Array[[Integer, Integer]]
        most = OS::Locks::MOST
        @seats.call.map { |seat| [seat.id, seat.task] }.rotate(number * most).first(most)
      end

      def tell_seats = nodes.each { |node| node.channel.send("seats", { "seats" => watched }) }

      #: (Node) -> (:held | :free)
      def vacate(node)
        return (@successor = nil) || :held if node == @successor

        @node, @successor = @successor, nil
        @state = :dead
        @node ? :held : :free
      end

      def to_plain(**) = super.merge(id: label) #: (**untyped) -> Hash[Symbol, untyped]
    end
  end
end
