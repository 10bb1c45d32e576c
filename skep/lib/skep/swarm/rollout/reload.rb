# frozen_string_literal: true

# New code beside the old: a new mold loads the swarm's file as it is now.
#
#   Reload.new(supervisor, **parts) { |why, hint| … }.start   # nil: done; else a sentence
#
# What the file says of the swarm itself (nodes, timeouts) doesn't change: `reload_ignored`
# names the options that differ. Its works are found by their names (Definition::WorkNames). The
# events that its blocks subscribe to do change (Molds::Mold#events).
# Once the mold is adopted Supervisor#code_adopted is called.
module Skep
  class Swarm
    module Rollout
      class Reload < RollingUpdate
        START_AGAIN = "stop the swarm and start it again"
        private_constant :START_AGAIN

        def initialize(supervisor, **parts, &done)
          super("reload", **parts, &done)
          @supervisor = supervisor
          @config = supervisor.config
        end

        def start
          @node_pool.rollout = self
          @mold = @mold_pool.start(self)
        rescue SystemCallError => e # no process or descriptor to be had
          roll_back("no new mold could be started: #{e.message}")
        end

        def mold_loaded(_mold, plain)
          @plain = plain
          new = @supervisor.read(plain)
          why = new.errors.first || unlike(new)
          return roll_back(why) if why

          warn_of(new)
          @mold_pool.prepare(@mold)
        end

        private

        def adopted = @supervisor.code_adopted(@plain)

        # Both versions of the code run side by side until the next reload.
        def hint
          new, old = @node_pool.all.select(&:live?).partition { |slot| renewed?(slot) }
          code = { "new" => new, "old" => old }.filter_map do |version, slots|
            "#{names(slots)} #{slots.one? ? "runs" : "run"} the #{version} code" if slots.any?
          end
          "#{code.join(", ")}: correct the cause and run `skep reload` again"
        end

        # Returns why this swarm's processes can't run the new file, or nil.
        def unlike(new)
          if new.name != @config.name
            return "the swarm's name is #{new.name} now: #{START_AGAIN}"
          end

          if new.tasks.size != @config.tasks.size
            works = "#{new.tasks.size} works now, not #{@config.tasks.size}"
            return "the file has #{works}: #{START_AGAIN}"
          end
          if works(new).nil?
            return "a work can't be renamed, added or removed, and the file's works are " \
                   "#{names_of(new)} now, not #{names_of(@config)}: #{START_AGAIN}"
          end
          if reordered?(new)
            return "the works are in another order now, by which the nodes know them: " \
                   "name them, put them back, or #{START_AGAIN}"
          end

          "the file has more threads now: #{START_AGAIN}" if new.threads > @config.threads
        end

        # Returns the works of the new file in the order of those of the swarm; nil: one is missing.
        def works(new)
          order = Definition::WorkNames.order(@config.tasks, new.tasks)
          order && new.works.values_at(*order)
        end

        def names_of(config) = config.works.map(&:name).join(", ")

        # Returns true for the same works in another order, as far as names don't tell them apart.
        # Blocks all look the same.
        def reordered?(new)
          before, now = [@config.works, works(new)].zip([@config, new]).map do |works, config|
            works.map { |work| config.tasks[work.number]["facts"] }
          end
          before != now && before.tally == now.tally
        end

        def warn_of(new)
          changed = new.to_h.keys.reject { |key| new.to_h[key] == @config.to_h[key] } - [:revision]
          changed += changed_options(new)
          return if changed.empty?

          error = "#{changed.join(", ")} changed: takes effect at the next start"
          @events.publish(:reload_ignored, level: :warn, error:)
        end

        # Of each work that has the name or options of its own that it had, nothing.
        def changed_options(new)
          @config.works.zip(works(new)).flat_map do |before, now|
            options = (before.own.keys | now.own.keys).reject do |option|
              before.own?(option) == now.own?(option) && before.own[option] == now.own[option]
            end
            name = "the name of work #{before.name} (to #{now.name})" if before.name != now.name
            [*name, *options.map { |option| "#{option} of work #{before.name}" }]
          end
        end
      end
    end
  end
end
