# frozen_string_literal: true

# What a process' end comes to: it is told of and written down, and whoever follows is seen to.
#
#   endings = Endings.new(manager, registrar, config, loop:, tell:)
#   endings.gone(node)             # it has ended, how is yet to be told
#   endings.settle(node, exit)     # this is how
#   endings.dismiss(node, exit)    # the same without a word: it never was
#   endings.expect(node)           # it has been killed: should it not die of it …
#   endings.silent(node)           # its channel has ended
#   endings.leaving(node)          # it ends by itself
module Skep
  class Swarm
    class Endings
      attr_reader :recoveries #: Recoveries

      def initialize(manager, registrar, config, loop:, tell:)
        @manager = manager
        @registrar = registrar
        @config = config
        @loop = loop
        @tell = tell
        @recoveries = Recoveries.new
      end

      # Who follows it however it ended is forked first, as its successor.
      def gone(node) #: (Node) -> void
        hear_out(node)
        @registrar.suspicions.charge(node)
        return if @manager.stopping? || @registrar.replacements.of(node.seat)

        @registrar.succession.anticipate(node) if @manager.seats.include?(node.seat)
      end

      def settle(node, exit) #: (Node, Exit) -> void
        hear_out(node)
        @registrar.inquest.over(node)
        node.blame(OomKills::REASON) if !node.killed? && @manager.surroundings.oom?(exit)
        @manager.spares.lose(node)
        heir = heir_of(node)
        standing = dismiss(node, exit)
        tell_of(node, exit) if node.pid # of who was never forked nobody has heard
        pass_on(node, standing, heir)
        @manager.emptied(node.mold)
      end

      # The process is gone, or is a node no more. What it leaves its seat: see Seat#leave.
      #: (Node, Exit?) -> (:held | :free | :unchanged)
      def dismiss(node, exit)
        node.ended
        @registrar.watchman.forget(node)
        @manager.roster.remove(node)
        @manager.totals.keep_of(node)
        node.seat.leave(node, exit, OS.now, within: @config.restarts_within)
      end

      # heir: the spare that has its seat already.
      def follow(node, standing, heir = nil) #: (Node, Symbol, ?Node?) -> void
        seat = node.seat
        return @registrar.boots.pump if heir
        return promote(seat) if standing == :held

        @registrar.replacements.failed(seat)
        free = standing == :free && @manager.all.include?(seat)
        @registrar.succession.after(seat, node) if free
        @registrar.boots.pump
      end

      # None of its code runs after SIGKILL, but it may be long in coming to its end: a debugger
      # holds it, or a disk. Its seat doesn't wait for that.
      def expect(node) #: (Node) -> void
        node.watches << @loop.after(2 * @config.kill_timeout) do
          @tell.call(:node_unkillable, node, level: :error)
          settle(node, Exit.new)
        end
      end

      # It has closed its channel, and has some time to end too.
      def silent(node) #: (Node) -> void
        @registrar.adoption.silent(node) unless node.mold.live?
        node.watches << @loop.after(@config.kill_timeout) { deaf(node) } if node.live?
      end

      # It ends by itself, or by a signal of somebody else's: it has the time of any stop.
      def leaving(node) #: (Node) -> void
        return unless node.ready?

        node.depart
        @registrar.notice.give(node)
      end

      private

      # Its last words come before the news of its end.
      def hear_out(node)
        node.channel.drain
        recoveries.lost(node, OS.now)
      end

      # What waited for its end to be written down: at once where nobody holds the seat, else when
      # who followed has it.
      def pass_on(node, standing, heir)
        @manager.spares.step_in(heir, node.seat) if heir
        node.seat.settled unless heir || standing == :held
        @manager.stopping? ? @manager.check : follow(node, standing, heir)
        node.seat.settled if standing == :held
      end

      # It runs on and nobody can tell it anything: it has closed all its descriptors, or executed
      # another program.
      def deaf(node)
        @tell.call(:node_deaf, node, level: :error)
        node.kill("deaf")
        @registrar.adoption.silent(node)
      end

      def promote(seat)
        @registrar.replacements.promoted(seat)
        @manager.spares.consider(seat)
      end

      # Who has claimed its seat. Nobody can from here on.
      def heir_of(node)
        return unless node == node.seat.node

        node.seat.claim.free(node)
        node.seat.claim.shut
      end

      def tell_of(node, exit)
        held = @manager.in_hand(node)
        reason = node.reason
        @manager.killed if exit.signal && reason && reason != OomKills::REASON
        @tell.call(:node_died, node, level: exit.clean? ? :info : :warn, **exit.to_plain, reason:,
                                     at: node.kind_of_death, in_hand: held.any? ? held : nil)
        @registrar.suspicions.explain(node, exit)
      end
    end
  end
end
