# frozen_string_literal: true

# Nodes that are to make way for new ones though they work: a few at a time, each once its successor
# is ready.
#
#   renewals = Renewals.new(manager, config, loop:)
#   renewals.ask(node, "memory_limit")       # false: it is under way, or to wait
#   renewals.at_once(node, "memory_limit")   # it can't wait for its successor
#
# A seat whose nodes are asked for again and again waits longer and longer, as after deaths: what is
# wrong with one is wrong with the next.
module Skep
  class Swarm
    class Renewals
      PART = 20 # of the swarm's nodes one in so many is renewed at a time, and one at least
      private_constant :PART

      def initialize(manager, config, loop:) #: (Manager, Config, loop: OS::Loop) -> void
        @manager = manager
        @config = config
        @loop = loop
        @policy = RestartPolicy.new(config)
        @queue = []
        @going = 0
        @begun = Hash.new { |all, id| all[id] = [] } # when, by seat id
        @later = {}
      end

      # patient: let a seat wait that was renewed too often of late.
      def ask(node, reason, patient: true) #: (Node, String, ?patient: bool) -> bool
        return false if !open?(node) || under_way?(node)
        return false if patient && OS.now < @later.fetch(node.id, 0.0)

        remember(node.id) if patient
        @queue << [node, reason]
        pump
        true
      end

      # Since when a seat is not to be renewed again.
      def keep = { "begun" => @begun.to_a, "later" => @later.to_a } #: () -> Hash[String, untyped]

      def recall(plain) #: (Hash[String, untyped]) -> void
        @begun.update(plain["begun"].to_h)
        @later = plain["later"].to_h
      end

      # Is it to go, or about to be asked to?
      def under_way?(node) #: (Node) -> bool
        node.live? && (node.retired? || @queue.any? { |queued, _| queued == node } ||
          !@manager.registrar.replacements.of(node.seat).nil?)
      end

      # Stops it now. What doesn't end within kill_timeout is killed: its memory is wanted.
      def at_once(node, reason) #: (Node, String) -> void
        return if @manager.stopping? # it has been told to, and has as long as any other

        @manager.replace(node.seat, reason) if open?(node)
        @manager.registrar.replacements.retire(node, reason) unless node.state == :stopping
        node.watches << @loop.after(@config.kill_timeout) { node.kill(reason) }
      end

      private

      # Does it hold its seat, and is nobody to take that over?
      def open?(node)
        node.ready? && node.seat.node == node && !node.seat.successor && !@manager.stopping?
      end

      def remember(id)
        now = OS.now
        times = @begun[id]
        times.shift while times.any? && times.first <= now - @config.restarts_within
        @later[id] = now + @policy.delay(times << now, now)
      end

      def limit = [@manager.seats.size / PART, 1].max

      def pump
        begin_one(*@queue.shift) while @queue.any? && @going < limit
      end

      def begin_one(node, reason)
        return unless open?(node)

        @going += 1
        @manager.replace(node.seat, reason) do
          @going -= 1
          pump
        end
      end
    end
  end
end
