# frozen_string_literal: true

# New code beside the old: a new mold loads the file as it is now, one node of it shows whether that
# works, then the others roll over; else the new mold is dropped and the old code goes on.
#
#   Reload.new(foundry, supervisor) { |why| … }.start   # nil: done; else a sentence
#
# The Foundry tells it of its mold. What the file says of the swarm itself (nodes, timeouts) isn't
# read again: it is told of where it has changed.
module Skep
  class Swarm
    class Reload
      attr_reader :mold #: Mold

      #: (Foundry, Supervisor) { (String?) -> void } -> void
      def initialize(foundry, supervisor, &done)
        @foundry = foundry
        @supervisor = supervisor
        @manager = supervisor.manager
        @config = supervisor.config
        @done = done
      end

      def start #: () -> self
        @mold = @foundry.start(reload: self)
        self
      rescue SystemCallError => e # no process or descriptor to be had
        over("no new mold could be started: #{e.message}")
        self
      end

      # The file's word. False: it can't take the place of what runs.
      def loaded(plain) #: (Hash[String, untyped]) -> bool
        new = @supervisor.read(plain)
        why = new.errors.first || unlike(new)
        drop(why) if why
        warn_of(new) unless why
        why.nil?
      end

      # Its mold can fork: the first node of it.
      def ready #: () -> void
        seat = @manager.seats.select(&:live?).min_by { |one| @manager.load(one) }
        return adopt unless seat

        @manager.replace(seat, "reload", mold: @mold) do |replaced|
          replaced || !seat.live? ? adopt : drop(stillborn(seat))
        end
      end

      def drop(why) #: (String) -> void
        return if @over

        @foundry.retire(@mold) if @mold&.live?
        over(why)
      end

      private

      def stillborn(seat)
        ["the first node of the new code could not begin", seat.failure].compact.join(": ")
      end

      def adopt
        return if @over

        old = @manager.mold
        @manager.mold = @mold
        @foundry.adopted(@mold)
        @foundry.retire(old) if old
        Rolling.new(@manager, "reload") do |failed|
          over(failed && left_behind(failed))
        end.start
      end

      def left_behind(seat)
        "node #{seat.label} could not be replaced, and works on with the old code: reload again"
      end

      # Why the new file can't go on in this swarm's processes.
      def unlike(new)
        if new.name != @config.name
          return "its name is #{new.name} now: stop the swarm and start it anew"
        end
        if new.tasks.size != @config.tasks.size
          return "it has #{new.tasks.size} works now, not #{@config.tasks.size}: start it anew"
        end

        more_threads?(new) ? "it has more threads now: start it anew" : nil
      end

      def more_threads?(new) = new.threads > @config.threads

      def warn_of(new)
        changed = new.to_h.keys.reject { |key| new.to_h[key] == @config.to_h[key] }
        return if changed.empty?

        message = "#{changed.join(", ")} changed: takes effect at the next start"
        @supervisor.emit(:reload_ignored, :warn, { message: })
      end

      def over(why)
        return if @over

        @over = true
        @done.call(why)
      end
    end
  end
end
