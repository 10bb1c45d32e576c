# frozen_string_literal: true

# Keeps nodes young and lean: those that have too much memory, or have lived long enough, make way
# for new ones.
#
#   upkeep = Upkeep.new(manager, config, surroundings, loop:, tell:, weights: ->(node) { … })
#   upkeep.watch(node)            # from its readiness to its end
#   upkeep.memory(node)           # => what is known of it, for `skep status`; counts nothing
#
# A node counts its own pages and leaves the sum on the page (Weighing), for the next look: nobody
# is woken by it.
# MemoryLimit, MemoryBudget, Leak and MaxLifetime judge; Scales says when to look; Renewals acts.
module Skep
  class Swarm
    class Upkeep
      FIRST = 0.25      # seconds from readiness to the first look
      AGAIN = 1.0       # between looks at one that has been judged
      ANSWER = 0.25     # from a question that matters to the look for its answer
      REST = 2          # liveness_timeouts between two measurements of one that keeps still
      STILL = 30.0      # between looks where nothing is limited
      LOOK = 0.03       # for each node: looks take 30 microseconds, and a thousandth of a processor
      LATE = 10.0       # until one that is too old is asked for again
      private_constant :FIRST, :AGAIN, :ANSWER, :REST, :STILL, :LOOK, :LATE

      attr_reader :renewals #: Renewals

      # tell: called with an event's name, the node, a level and facts; weights: tells when a node
      # has counted its pages, and what it counted, if it has.
      def initialize(manager, config, surroundings, loop:, tell:, weights:)
        @manager = manager
        @loop = loop
        @tell = tell
        @weights = weights
        @rest = config.liveness_timeout * REST
        @surroundings = surroundings
        @renewals = Renewals.new(manager, config, loop:)
        @scales = Scales.new(loop) { |node, now| look(node, now) }
        @lifetime = config.max_lifetime && MaxLifetime.new(config.max_lifetime)
        appoint_judges(config)
      end

      def watch(node) #: (Node) -> void
        return if node.helper?

        expect_end(node, @lifetime.part) if @lifetime
        begin_weighing(node)
      end

      # One that the program before has watched; footprint: what that knew of it, if it did.
      def resume(node, footprint) #: (Node, Hash[String, untyped]?) -> void
        return watch(node) unless footprint

        expect_end(node, @lifetime.part) if @lifetime
        node.footprint = Footprint.recall(footprint)
        node.watches << @scales.watch(node, FIRST)
      end

      def memory(node) #: (Node?) -> Hash[Symbol, untyped]?
        return unless node&.footprint

        hear(node)
        node.footprint.to_plain(OS.now)
      end

      private

      def begin_weighing(node)
        return unless OS::Resident.known?

        resident = OS::Resident.of(node.pid) # nil, too, where no descriptor is left
        return node.watches << @loop.after(AGAIN) { begin_weighing(node) } unless resident

        node.footprint = Footprint.new(resident, sharers: @manager.seats.size, rest: @rest,
                                                 now: OS.now)
        node.watches << @scales.watch(node, FIRST)
      end

      def appoint_judges(config)
        limit = @surroundings.within(:memory_limit, config.memory_limit)
        @limited = limit || config.memory_budget
        longest = [@limited ? MemoryLimit::LONGEST : STILL, LOOK * @manager.seats.size].max
        @limit = MemoryLimit.new(limit:, longest:)
        @leak = Leak.new(limit:)
        @budget = Budgeting.new(@manager, @surroundings, config.memory_budget,
                                pause: longest / 10, tell: @tell)
      end

      def expect_end(node, part)
        verdict = @lifetime.verdict(ready_at: node.ready_at, part:, now: OS.now)
        @renewals.ask(node, "max_lifetime", patient: false) if verdict == :replace
        seconds = verdict == :replace ? LATE : verdict # if it can't be renewed now, then later
        node.watches << @loop.after(seconds) { expect_end(node, part) }
      end

      # Returns the seconds until the next look.
      def look(node, now)
        resident = OS::Resident.of(node.pid) or return AGAIN # its end is about to be told
        hear(node)
        node.footprint.seen(resident, now)
        warn_of_leak(node, node.footprint, now)
        verdict = judge(node, node.footprint, now)
        @surroundings.look(now)
        @budget.look(now) { |victim, deed| renew(victim, "memory_budget", deed) }
        verdict.is_a?(Float) ? pause(verdict, node.footprint, now) : AGAIN
      end

      # What it has counted, since it was last looked at.
      def hear(node)
        at, plain = @weights.call(node)
        node.footprint.measured(plain, at) if at
      end

      # Where nothing is limited a node is looked at when it is three times as old: for the record.
      def pause(seconds, footprint, now)
        return [seconds, @budget.reach(footprint.rate), answer(footprint, now)].min if @limited

        [[2 * (now - footprint.born_at), AGAIN].max, @limit.longest].min
      end

      # Of one that keeps still nothing is awaited that would change anything.
      def answer(footprint, now)
        waited = footprint.waited(now)
        waited.nil? || footprint.still? ? Float::INFINITY : [waited, ANSWER].max
      end

      def judge(node, footprint, now)
        verdict = @limit.verdict(footprint.facts, now)
        ask(node, now) if verdict == :measure || footprint.stale?(now)
        act(node, verdict)
        verdict == :measure ? @limit.verdict(footprint.facts, now) : verdict
      end

      def ask(node, now)
        node.footprint.ask(now)
        node.channel.send("measure")
      end

      def act(node, verdict)
        return unless %i[replace stop].include?(verdict)
        return unless renew(node, "memory_limit", verdict)

        @tell.call(:node_over_limit, node, level: :warn, uss: node.footprint.least,
                                           limit: @limit.limit, at_once: verdict == :stop)
      end

      # Has anything come of it?
      def renew(node, reason, deed)
        return @renewals.ask(node, reason) if deed == :replace
        return false if node.footprint.condemned?

        node.footprint.condemn
        @renewals.at_once(node, reason)
        true
      end

      def warn_of_leak(node, footprint, now)
        return unless footprint.suspicious?

        leak = @leak.verdict(footprint.growth, footprint.least, now) or return
        footprint.suspected(leak.bytes)
        @tell.call(:node_leaking, node, level: :warn, bytes: leak.bytes, rate: leak.rate.round,
                                        seconds: leak.seconds&.round)
      end
    end
  end
end
