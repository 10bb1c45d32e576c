# frozen_string_literal: true

# Replaces the processes of all slots, one at a time, each new one ready before its predecessor
# goes. Where they are to come from a new mold, one node of it shows first whether it works: the
# canary.
#
#   RollingUpdate.new("restart", **parts) { |why, hint| … }.start   # why: nil, or what has failed
#   RollingUpdate.new("restart", **parts, slots:) { … }.start       # these slots only
#
# It gives the slots a new generation (Slot#renew). NodePool replaces what is older, within its
# budget, and calls `look` after each fact: the rollout compares what is with what is wanted.
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
          starting: { mold_ready: :canary, roll: :rolling, roll_back: :rolled_back },
          canary: { try_again: :canary, canary_ready: :judging, adopt: :rolling,
                    roll_back: :rolled_back },
          judging: { try_again: :canary, adopt: :rolling, roll_back: :rolled_back },
          rolling: { finish: :done, give_up: :failed },
          done: {}, failed: {}, rolled_back: {}
        }.freeze
        NAMED = 20 # nodes in a sentence
        STOPPING = "the swarm is stopping"
        private_constant :NAMED, :STOPPING

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
          @generation = node_pool.take_generation
        end

        # Slots that wait after an exit, as in a crash loop, get their nodes at once. Of one slot
        # alone the outcome is awaited.
        def start
          change(:roll)
          @node_pool.rollout = self
          @node_pool.generation = @generation unless @slots
          @awaited = @slots.first if @slots&.one? && @slots.first.waiting?
          want_new_nodes
          start_nodes
        end

        # Compares what is with what is wanted: called by NodePool after each fact about a slot.
        def look
          @looks_again = true
          look_until_settled unless @looking
        end

        # Called by MoldPool, about the new mold, until it is adopted. Only that of a Reload loads a
        # file.

        def mold_rejected(error, _exit_code) = roll_back(error)

        def mold_ready(_mold)
          change(:mold_ready)
          look
        end

        def mold_exited(mold, exit_status, obstacle)
          why = " (#{mold.kill_reason})" if mold.kill_reason
          roll_back(["the new mold ended, #{exit_status}#{why}", *obstacle].join(": "))
        end

        private

        def over? = TRANSITIONS.fetch(@state).empty?

        # What a look does may be a fact for the next one.
        def look_until_settled
          @looking = true
          while @looks_again && !over?
            @looks_again = false
            look_once
          end
        ensure
          @looking = false
        end

        def look_once
          return @state == :rolling ? give_up(STOPPING) : roll_back(STOPPING) if stopping?

          case @state
          when :starting then look_before_the_mold
          when :canary then look_at_canary
          when :rolling then @awaited ? look_at_awaited : look_at_all
          end
        end

        def stopping? = @node_pool.stopping?
        def look_before_the_mold = nil

        # The least busy node makes way for a node of the new mold. If no node works, one of the
        # slots that wait gets it. Without any of these there is nothing to try the mold with.
        def choose_canary
          slots = @node_pool.slots.select(&:wanted?)
          slot = slots.select(&:live?).min_by { |one| @node_pool.load(one) } || slots.first
          return adopt unless slot

          @canary = slot
          @generation_before = slot.generation
          slot.failure = nil
          @node_pool.renew(slot, @generation, @reason, mold: @mold)
        end

        def look_at_canary
          slot = @canary or return choose_canary
          return try_again unless slot.wanted?
          return roll_back(stillborn(slot.failure || end_of(slot))) if failed?(slot)
          return start_after_quiet(slot) unless proved?(slot)

          change(:canary_ready)
          judge(slot)
        end

        # Returns true if the slot's new node couldn't begin. If there is an old node, it stays.
        def failed?(slot)
          slot.failed_generation == @generation || (slot.live? && slot.generation < @generation)
        end

        # Its new node works, or has ended well, as the swarm is quiet.
        def proved?(slot)
          return slot.last_generation >= @generation if slot.ended_by_quiet?

          slot.live? && slot.node.generation >= @generation && slot.node.ready? && !slot.replacing
        end

        # Its old node has ended well, as the swarm is quiet: its new one doesn't wait for `resume`.
        def start_after_quiet(slot)
          @node_pool.start_now(slot) if slot.ended_by_quiet?
        end

        # The slot of the canary is gone, or wants no node any more: it has proved nothing.
        def try_again
          change(:try_again)
          @canary = nil
          look
        end

        # The canary works: that is enough here.
        def judge(_slot) = adopt

        def adopt
          change(:adopt)
          old = @node_pool.mold
          @mold_pool.adopt(@mold)
          @node_pool.generation = @generation
          want_new_nodes
          @node_pool.mold = @mold
          adopted
          retire(old) if old
          start_nodes
        end

        # All nodes come from the new mold from here on.
        def adopted = nil

        def retire(mold)
          @mold_pool.retire(mold, in_use: @node_pool.node_table.of(mold).any?)
        end

        def roll_back(why)
          return if over?

          change(:roll_back)
          @node_pool.rollout = nil
          want_old_nodes if @mold
          retire(@mold) if @mold&.live?
          @done.call(why)
        end

        # The nodes of the new mold make way for nodes of the mold that stays; those that boot are
        # ended.
        def want_old_nodes
          @canary&.renew(@generation_before, @reason)
          @node_pool.slots.each do |slot|
            @node_pool.reject(slot.successor, @reason) if slot.successor&.mold == @mold
            @node_pool.replace(slot.node, @reason) if slot.node&.mold == @mold
          end
          @node_pool.reconcile(@canary) if @canary # its next process has a mold again
        end

        def stillborn(why)
          ["the first node of the new mold could not begin", why].compact.join(": ")
        end

        def end_of(slot)
          return unless slot.last_exit

          reason = " (#{slot.last_reason})" if slot.last_reason
          "the new process ended, #{slot.last_exit}#{reason}"
        end

        # The least busy slots come first.
        def want_new_nodes
          @left = (@slots || @node_pool.all).sort_by do |slot|
            [slot.helper? ? 1 : 0, @node_pool.load(slot), slot.id || 0]
          end
          @left.each { |slot| slot.renew(@generation, @reason) }
          @awaited&.failure = nil
        end

        def start_nodes
          @left.dup.each { |slot| @node_pool.start_now(slot) }
          look
        end

        def look_at_all
          @left.reject! { |slot| renewed?(slot) }
          slot = @left.find { |one| one.generation < @generation }
          return give_up(not_replaced(slot), slot.failure) if slot

          finish if @left.empty?
        end

        def look_at_awaited
          slot = @awaited
          return finish if slot.retired? || proved?(slot)

          why = slot.failure || end_of(slot)
          failed?(slot) ? give_up("#{names([slot])} could not start", why) : start_after_quiet(slot)
        end

        # Returns true if the slot is removed, if its next process will be new, or if its present
        # one is.
        def renewed?(slot)
          return true if slot.retired? || !slot.live?

          slot.node.generation >= @generation && !slot.replacing
        end

        def finish
          change(:finish)
          @node_pool.rollout = nil
          @done.call(nil)
        end

        # The slots that are left keep their processes.
        def give_up(error, why = nil)
          change(:give_up)
          @node_pool.rollout = nil
          @left.each(&:settle)
          @done.call([error, why].compact.join(": "), hint)
        end

        # Its process may be stopping: its new one was ready then, and has died.
        def not_replaced(slot)
          kept = ", and keeps its process" unless slot.status == :stopping
          "#{names([slot])} could not be replaced#{kept}"
        end

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
    end
  end
end
