# frozen_string_literal: true

# New code beside the old: a new mold loads the file as it is now, and is tried.
#
#   Reload.new(foundry, supervisor) { |why| … }.start   # nil: done; else a sentence
#
# What the file says of the swarm itself (nodes, timeouts) isn't read again: it is told of where it
# has changed.
module Skep
  class Swarm
    class Reload < Trial
      REASON = "reload"

      def start #: () -> void
        @mold = @foundry.start(trial: self)
      rescue SystemCallError => e # no process or descriptor to be had
        over("no new mold could be started: #{e.message}")
      end

      def loaded(plain)
        new = @supervisor.read(plain)
        why = new.errors.first || unlike(new)
        drop(why) if why
        warn_of(new) unless why
        why.nil?
      end

      private

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
    end
  end
end
