# frozen_string_literal: true

# New code beside the old: a new mold loads the file as it is now, and is tried.
#
#   Reload.new(mold_pool, supervisor) { |why| … }.start   # nil: done; else a sentence
#
# What the file says of the swarm itself (nodes, timeouts) isn't read again: `reload_ignored` names
# what has changed. Which events its blocks want to hear counts from the new mold on
# (Molds::Mold#events).
module Skep
  class Swarm
    module Rollout
      class Reload < Rollout::CanaryRollout
        REASON = "reload"

        def start #: () -> void
          @mold = @mold_pool.start(trial: self)
        rescue SystemCallError => e # no process or descriptor to be had
          over("no new mold could be started: #{e.message}")
        end

        def loaded(plain)
          @plain = plain
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
          if reordered?(new)
            return "its works are in another order now, by which its nodes know them: " \
                   "put them back, or stop the swarm and start it anew"
          end

          more_threads?(new) ? "it has more threads now: start it anew" : nil
        end

        # Are they the same kinds of work in another order? Blocks all look the same.
        def reordered?(new)
          before, now = [@config, new].map { |config| config.tasks.map { |task| task["facts"] } }
          before != now && before.tally == now.tally
        end

        def adopted = @supervisor.reloaded(@plain)

        def more_threads?(new) = new.threads > @config.threads

        def warn_of(new)
          changed = new.to_h.keys.reject { |key| new.to_h[key] == @config.to_h[key] }
          changed += changed_counts(new)
          return if changed.empty?

          message = "#{changed.join(", ")} changed: takes effect at the next start"
          @supervisor.events.publish(:reload_ignored, level: :warn, message:)
        end

        def changed_counts(new)
          new.tasks.each_index.filter_map do |work|
            before, now = [@config, new].map { |config| config.tasks[work]["nodes"] }
            "nodes of work #{work} (#{before || "none"} to #{now || "none"})" if before != now
          end
        end
      end
    end
  end
end
