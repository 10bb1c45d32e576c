# frozen_string_literal: true

# A new mold beside the one there is, on trial: one node of it shows whether it works, then the
# others roll over; else it is dropped, and the old one goes on until its last node has gone.
#
#   trial = Reload.new(foundry, supervisor) { |why| … }   # nil: all nodes are of the new mold
#   trial.ready         # by the Reports: its mold can fork
#   trial.drop(why)     # it is refused, or has ended
#
# Where the mold comes from a Reload and a Refork know.
module Skep
  class Swarm
    class Trial
      attr_reader :mold #: Mold?

      #: (Foundry, Supervisor) { (String?) -> void } -> void
      def initialize(foundry, supervisor, &done)
        @foundry = foundry
        @supervisor = supervisor
        @manager = supervisor.manager
        @config = supervisor.config
        @done = done
      end

      # The file's word, where its mold loads one. False: it can't take the place of what runs.
      def loaded(_plain) = true #: (Hash[String, untyped]) -> bool

      def ready #: () -> void
        seat = @manager.seats.select(&:live?).min_by { |one| @manager.load(one) }
        return adopt unless seat

        @manager.replace(seat, self.class::REASON, mold: @mold) do |replaced|
          next ready if seat.given_up? # scaled away meanwhile: try the new mold in another seat

          replaced || !seat.live? ? judge(seat) : drop(stillborn(seat))
        end
      end

      def drop(why) #: (String) -> void
        return if @over

        take_back
        @foundry.retire(@mold) if @mold&.live?
        over(why)
      end

      private

      # What came of it makes way, so that it can go.
      def take_back
        seats = @manager.seats.select { |seat| seat.live? && seat.node.mold == @mold }
        seats.each { |seat| @manager.replace(seat, self.class::REASON) }
      end

      # The first node of the new mold holds its seat.
      def judge(_seat) = adopt

      def adopt
        return if @over

        old = @manager.mold
        @manager.mold = @mold
        @foundry.adopted(@mold)
        adopted
        @foundry.retire(old) if old
        Rolling.new(@manager, self.class::REASON, mold: @mold) do |failed|
          over(failed && left_behind(failed))
        end.start
      end

      # Its mold has taken the place of the old one.
      def adopted = nil

      def stillborn(seat)
        ["the first node of the new mold could not begin", seat.failure].compact.join(": ")
      end

      def left_behind(seat)
        "node #{seat.label} could not be replaced, and works on as it is: try again"
      end

      def over(why)
        return if @over

        @over = true
        @done.call(why)
      end
    end
  end
end
