# frozen_string_literal: true

# Replaces the processes of all slots, one at a time, each new one ready before its predecessor
# goes. Where they are to come from a new mold, one node of it shows first whether it works: the
# canary.
#
#   RollingUpdate.new("restart", **parts) { |why, hint| … }.start   # why: nil, or what has failed
#   RollingUpdate.new("restart", **parts, slots:) { … }.start       # these slots only
#
# A restart has no new mold. Where the mold comes from, and how its canary is judged, is up to a
# Reload and a Refork.
#
# | state | what happens |
# |---|---|
# | starting | a Reload's or Refork's mold is being made |
# | canary | one slot gets a node of the new mold, one that waits if no node works |
# | judging | that node works, and is watched |
# | rolling | slot by slot gets a new node, the least busy first |
# | done | all nodes are new |
# | failed | a slot can't get one: the slots that are left keep theirs, as they would fail, too |
# | rolled_back | the new mold and its nodes go again |
module Skep
  class Swarm
    module Rollout
      class RollingUpdate
        include Runtime::StateMachine

        TRANSITIONS = {
          starting: { mold_ready: :canary, roll: :rolling, refuse: :rolled_back },
          canary: { retry: :canary, replaced: :judging, accept: :rolling, refuse: :rolled_back },
          judging: { retry: :canary, accept: :rolling, refuse: :rolled_back },
          rolling: { finish: :done, give_up: :failed },
          done: {}, failed: {}, rolled_back: {}
        }.freeze
        MOLD_FACTS = %i[mold_loaded mold_load_rejected mold_ready mold_exited].freeze
        NAMED = 20 # nodes in a sentence
        UNDECIDED = 0.01 # seconds until what follows an exit is decided
        private_constant :MOLD_FACTS, :NAMED, :UNDECIDED

        attr_reader :mold # the new one

        # reason: what the replaced processes' exits are logged with; slots: nil for all.
        def initialize(reason, node_pool:, mold_pool:, loop:, events:, slots: nil, &done)
          @reason = reason
          @node_pool = node_pool
          @mold_pool = mold_pool
          @loop = loop
          @events = events
          @slots = slots
          @done = done
          @state = :starting
        end

        # Slots that wait after an exit, as in a crash loop, get their nodes at once. Of one slot
        # alone the outcome is awaited.
        def start
          change(:roll)
          @began = OS.now
          slot, *others = @slots
          return start_waiting(slot) if others.empty? && slot&.waiting?

          end_waits
          roll
        end

        private

        def start_waiting(slot)
          SlotStart.new(slot, node_pool: @node_pool, events: @events).call do |why|
            why ? give_up("#{names([slot])} could not start", why) : finish
          end
        end

        def end_waits
          (@slots || @node_pool.all).each { |slot| @node_pool.start_now(slot) }
        end

        def over? = TRANSITIONS.fetch(@state).empty?

        # Acts on what happens to the new mold, until it is adopted or gone.
        def follow_mold
          @subscription = @events.subscribe(*MOLD_FACTS) do |event|
            mold_fact(event.name, event.facts) if event.subject.equal?(@mold)
          end
        end

        def mold_fact(name, facts)
          case name
          when :mold_loaded then mold_loaded(facts[:plain])
          when :mold_load_rejected then roll_back(facts[:error])
          when :mold_exited
            why = ["the new mold ended, #{facts[:exit_status]}", *facts[:obstacle]].join(": ")
            roll_back(why)
          when :mold_ready
            change(:mold_ready)
            try_canary
          end
        end

        # Only the mold of a Reload loads a file.
        def mold_loaded(_plain) = nil

        def try_canary
          slot = @node_pool.slots.select(&:live?).min_by { |one| @node_pool.load(one) }
          return try_waiting unless slot
          return wait(slot) { try_canary unless over? } if @node_pool.replacing?(slot)

          @node_pool.replace(slot, @reason, mold: @mold) do |replaced|
            canary_settled(slot, replaced) unless over?
          end
        end

        # No node works: one of the slots that wait gets a node of the new mold.
        def try_waiting
          slot = @node_pool.slots.find(&:waiting?) or return none_waits
          SlotStart.new(slot, node_pool: @node_pool, events: @events, mold: @mold).call do |why|
            next if over? || !@mold.live?
            next roll_back(stillborn(why)) if why
            next try_again if slot.retired? || !slot.mold.equal?(@mold)

            change(:replaced)
            judge(slot)
          end
        end

        # If no slot is to get a node any more, there is nothing to try the new mold with. But what
        # follows an exit may be decided only after the canary has heard of it: then a slot waits
        # soon, and the code isn't adopted untried.
        def none_waits
          return adopt unless @node_pool.slots.any?(&:undecided?)

          @loop.after(UNDECIDED) { try_canary unless over? }
        end

        # A slot that was removed, or whose node has exited meanwhile, has tried nothing. A dead
        # mold is followed by mold_exited.
        def canary_settled(slot, replaced)
          return unless @mold.live?
          return roll_back(stillborn(slot.failure || SlotStart.ended(slot))) if new_node_died?(slot)
          return try_again if slot.retired? || !slot.live?
          return roll_back(stillborn(slot.failure)) unless replaced

          change(:replaced)
          judge(slot)
        end

        # Returns true if the old node has died, and then the new one.
        def new_node_died?(slot)
          !slot.live? && !slot.retired? && slot.last_mold.equal?(@mold)
        end

        # Something else replaces this slot's node: its limit of memory, or its age.
        def wait(slot, &) = @node_pool.when_replaced(slot, &)

        def try_again
          change(:retry)
          try_canary
        end

        # The canary works: that is enough here.
        def judge(_slot) = adopt

        def adopt
          change(:accept)
          @events.unsubscribe(@subscription)
          old = @node_pool.mold
          @node_pool.mold = @mold
          @mold_pool.adopt(@mold)
          adopted
          retire(old) if old
          roll
        end

        # All nodes come from the new mold from here on.
        def adopted = nil

        def retire(mold)
          @mold_pool.retire(mold, in_use: @node_pool.node_table.of(mold).any?)
        end

        def roll_back(why)
          return if over?

          change(:refuse)
          @events.unsubscribe(@subscription)
          replace_nodes_of(@mold) if @mold
          retire(@mold) if @mold&.live?
          @done.call(why)
        end

        # Its nodes make way for nodes of the mold that stays; those that boot are ended.
        def replace_nodes_of(mold)
          @node_pool.slots.select(&:live?).each do |slot|
            @node_pool.cancel_replacement(slot, @reason) if slot.successor&.mold == mold
            @node_pool.replace(slot, @reason) if slot.node.mold == mold
          end
        end

        def stillborn(why)
          ["the first node of the new mold could not begin", why].compact.join(": ")
        end

        def roll
          @left = (@slots || @node_pool.all).sort_by do |slot|
            [slot.helper? ? 1 : 0, @node_pool.load(slot), slot.id || 0]
          end
          replace_next
        end

        def replace_next
          @left.shift while @left.any? && renewed?(@left.first)
          slot = @left.first or return finish
          return wait(slot) { replace_next } if @node_pool.replacing?(slot)

          @left.shift
          @node_pool.replace(slot, @reason) do |replaced|
            renewed = replaced || (renewed?(slot) && !@node_pool.stopping?)
            renewed ? replace_next : give_up(not_replaced(slot), slot.failure)
          end
        end

        # Returns true if the slot is removed, if its next process will be new, or if its present
        # one is.
        def renewed?(slot)
          return true if slot.retired? || !slot.live?

          @mold ? slot.node.mold.number >= @mold.number : slot.node.asked_at >= @began
        end

        def finish
          change(:finish)
          @done.call(nil)
        end

        def give_up(error, why)
          change(:give_up)
          @done.call([error, why].compact.join(": "), hint)
        end

        def not_replaced(slot) = "#{names([slot])} could not be replaced, and keeps its process"

        # Returns what to do after a failure halfway; nil for nothing.
        def hint = "correct the cause and run `skep restart` again"

        # Returns "nodes 0, 2 and spare 0" for these slots, and no more than NAMED ids.
        def names(slots)
          ids, others = slots.map(&:label).partition { |label| label.is_a?(Integer) }
          shown = ids.sort.first(NAMED).join(", ")
          shown << ", …" if ids.size > NAMED
          nodes = "#{ids.one? ? "node" : "nodes"} #{shown}" if ids.any?
          [*nodes, *others].join(" and ")
        end
      end

      # Starts the node of a slot that waits after an exit, and reports its first outcome.
      #
      #   SlotStart.new(slot, node_pool:, events:).call { |why| … }   # nil once the node is ready
      #   SlotStart.new(slot, mold:, **others).call { |why| … }       # a node of this mold
      #
      # A slot that is removed needs no node: nil, too.
      class SlotStart
        FACTS = %i[node_ready exit_recorded fork_failed swarm_scaled].freeze
        STOPS = %i[swarm_stopping nodes_killed].freeze
        STOPPING = "the swarm is stopping"
        private_constant :FACTS, :STOPS, :STOPPING

        def self.ended(slot)
          reason = " (#{slot.last_reason})" if slot.last_reason
          "the new process ended, #{slot.last_exit}#{reason}"
        end

        def initialize(slot, node_pool:, events:, mold: nil)
          @slot = slot
          @node_pool = node_pool
          @events = events
          @mold = mold
        end

        def call(&done)
          @done = done
          @slot.failure = nil
          @subscription = @events.subscribe(*FACTS, *STOPS) { |event| follow(event) }
          @node_pool.start_now(@slot, mold: @mold)
        end

        private

        def follow(event)
          case event.name
          when *STOPS then over(STOPPING)
          when :swarm_scaled then over if @slot.retired?
          when :fork_failed then over(event.facts[:error]) if event.subject.equal?(@slot)
          when :node_ready then over if event.subject.slot.equal?(@slot)
          when :exit_recorded
            ended = event.subject.slot.equal?(@slot)
            over(@slot.failure || SlotStart.ended(@slot)) if ended
          end
        end

        def over(why = nil)
          @events.unsubscribe(@subscription)
          @done.call(why)
        end
      end

      # New code beside the old: a new mold loads the swarm's file as it is now.
      #
      #   Reload.new(config, read:, **parts) { |why, hint| … }.start   # nil: done; else a sentence
      #
      # What the file says of the swarm itself (nodes, timeouts) doesn't change: `reload_ignored`
      # names the options that differ. The events that its blocks subscribe to do (Molds::Mold#events).
      # Once the mold is adopted `code_adopted (plain)` is on the event bus.
      class Reload < RollingUpdate
        START_AGAIN = "stop the swarm and start it again"
        private_constant :START_AGAIN

        # read: makes a Definition::Config of what a mold has loaded.
        def initialize(config, read:, **parts, &done)
          super("reload", **parts, &done)
          @config = config
          @read = read
        end

        def start
          follow_mold
          @mold = @mold_pool.start(candidate: true)
        rescue SystemCallError => e # no process or descriptor to be had
          roll_back("no new mold could be started: #{e.message}")
        end

        private

        def mold_loaded(plain)
          @plain = plain
          new = @read.call(plain)
          why = new.errors.first || unlike(new)
          return roll_back(why) if why

          warn_of(new)
          @mold_pool.prepare(@mold)
        end

        def adopted
          @events.announce(:code_adopted, @mold, plain: @plain)
          end_waits
        end

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
          if reordered?(new)
            return "the works are in another order now, by which the nodes know them: " \
                   "put them back, or #{START_AGAIN}"
          end

          "the file has more threads now: #{START_AGAIN}" if new.threads > @config.threads
        end

        # Returns true for the same kinds of work in another order. Blocks all look the same.
        def reordered?(new)
          before, now = [@config, new].map { |config| config.tasks.map { |task| task["facts"] } }
          before != now && before.tally == now.tally
        end

        def warn_of(new)
          changed = new.to_h.keys.reject { |key| new.to_h[key] == @config.to_h[key] }
          changed += changed_counts(new)
          return if changed.empty?

          error = "#{changed.join(", ")} changed: takes effect at the next start"
          @events.publish(:reload_ignored, level: :warn, error:)
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
