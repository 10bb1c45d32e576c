# frozen_string_literal: true

# Writes down each process' birth, readiness and end, and sees to what follows.
#
#   registrar = Registrar.new(manager, config, loop:, page:, cells:, tell:)
#   registrar.forked(slot, pid, pidfd)     # what the mold reports
#   registrar.exited(slot, pid, exit)
#   registrar.mold_died(mold)
#   registrar.boots                        # whom to fork, and when
#   registrar.replacements                 # who takes over from whom
#
# What the manager wants of its nodes (to be quiet, to end) is asked of it.
module Skep
  class Swarm
    class Registrar
      FORK_RETRY = 0.1 # seconds, where the system refused a fork
      private_constant :FORK_RETRY

      attr_reader :boots #: BootQueue
      attr_reader :replacements #: Replacements
      attr_reader :watchman #: Watchman
      attr_reader :signs #: Signs
      attr_reader :inquest #: Inquest

      def upkeep = @manager.upkeep #: () -> Upkeep

      def initialize(manager, config, loop:, page:, cells:, tell:)
        @manager = manager
        @config = config
        @loop = loop
        @tell = tell
        @signs = Signs.new(page, cells)
        appoint_watchman
        appoint({ loop:, page:, cells: })
      end

      def forked(slot, pid, pidfd) #: (Integer, Integer, OS::Pidfd?) -> void
        node = roster[slot]
        node.forked(pid, pidfd)
        node.expect_end { |killed| watch_end(killed) }
        tell(:node_forked, node)
        node.channel.listen # not before: what it says must find a node with a pid
        admit(node)
        @adoption.follow(node) if node.live? && pidfd&.watchable?
      end

      def fork_failed(slot, error) #: (Integer, String) -> void
        node = roster[slot]
        dismiss(node, Exit.new)
        unforked(node.seat, error)
      end

      def exited(slot, pid, exit) #: (Integer, Integer, Exit) -> void
        node = roster[slot]
        settle(node, exit) if node&.pid == pid
      end

      # The mold is gone: its nodes fell to us, and those it hadn't reported are taken for lost.
      def mold_died(mold) #: (Mold) -> void
        @boots.lose(mold)
        roster.of(mold).each { |node| @adoption.take(node) }
      end

      def ready(node) #: (Node) -> void
        node.boot_timer.cancel
        node.ready(OS.now)
        @manager.booted unless node.helper?
        tell(:node_ready, node, seconds: node.took.round(6))
        @watchman.watch(node)
        upkeep.watch(node)
        @succession.outlive(node)
        @replacements.ready(node)
        spares.consider(node.seat)
        @boots.pump
      end

      # A spare has booted.
      def spare_ready(node) #: (Node) -> void
        node.boot_timer.cancel
        node.spare(OS.now)
        tell(:spare_ready, node, seconds: node.took.round(6))
        @watchman.watch(node)
        @replacements.ready(node)
        @boots.pump
      end

      # It has closed its channel, and has some time to end too.
      def silent(node) #: (Node) -> void
        @adoption.silent(node) unless node.mold.live?
        node.watches << @loop.after(@config.kill_timeout) { deaf(node) } if node.live?
      end

      # It has done enough to be worth forking from.
      def warm(node) = @manager.warm(node) #: (Node) -> void

      # It ends by itself, or by a signal of somebody else's: it has the time of any stop.
      def leaving(node) #: (Node) -> void
        return unless node.ready?

        node.depart
        node.watches << @loop.after(@config.stop_timeout) { node.kill("stop_timeout") }
      end

      # A node's process is a mold from here on.
      def became_mold(node) #: (Node) -> void
        pidfd = node.leave
        @watchman.forget(node)
        roster.remove(node)
        standing = node.seat.leave(node, nil, OS.now, within: @config.restarts_within)
        tell(:node_became_mold, node)
        node.refork.became(node, pidfd)
        follow(node, standing) unless @manager.stopping?
        @manager.check if @manager.stopping?
      end

      def retire(...) = @replacements.retire(...) #: (Node, String) -> void

      private

      # Who says when a node is hung, and who ends it then.
      def appoint_watchman
        shared = { loop: @loop, signs:, tell: @tell }
        @inquest = Inquest.new(@config, **shared)
        @watchman = Watchman.new(@config, **shared, looked: @manager.method(:looked),
                                 &@inquest.method(:open))
      end

      # Who says when a node has ended, or may be forked.
      def appoint(shared)
        @adoption = Adoption.new(@loop) { |node, exit| settle(node, exit) }
        @hearing = Hearing.new(@loop, self, spares:, tell: @tell)
        @boots = BootQueue.new(@config, **shared, roster:, hearing: @hearing,
                                        failed: method(:no_channel))
        @replacements = Replacements.new(@config, loop: @loop, boots: @boots, tell: @tell,
                                                  spares:)
        @succession = Succession.new(@config, loop: @loop, seats: @manager.seats, boots: @boots,
                                              tell: @tell, over: @manager.method(:over), spares:)
        spares.serve(self, @hearing, @tell)
      end

      def roster = @manager.roster
      def spares = @manager.spares

      # What a node that has just been forked must know.
      def admit(node)
        return node.kill("forced") if @manager.killed?
        return if node.helper?

        node.quiet if @manager.quiet? && !@manager.stopping?
        node.stop if @manager.stopping?
      end

      def no_channel(seat, error)
        seat.died("boot", OS.now, @config.restarts_within)
        unforked(seat, error)
      end

      def unforked(seat, error)
        tell(:fork_failed, seat, level: :error, error:, seconds: FORK_RETRY)
        return @manager.check if @manager.stopping?

        seat.live? ? @replacements.failed(seat) : @boots.later(seat, FORK_RETRY)
      end

      # It runs on and nobody can tell it anything: it has closed all its descriptors, or executed
      # another program.
      def deaf(node)
        tell(:node_deaf, node, level: :error)
        node.kill("deaf")
        @adoption.silent(node)
      end

      # None of its code runs after SIGKILL, but it may be long in coming to its end: a debugger
      # holds it, or a disk. Its seat doesn't wait for that.
      def watch_end(node)
        node.watches << @loop.after(2 * @config.kill_timeout) do
          tell(:node_unkillable, node, level: :error)
          settle(node, Exit.new)
        end
      end

      def settle(node, exit)
        node.channel.drain
        @inquest.over(node)
        node.blame(OomKills::REASON) if !node.killed? && @manager.surroundings.oom?(exit)
        spares.lose(node)
        heir = heir_of(node)
        standing = dismiss(node, exit)
        tell_of_end(node, exit)
        heir ? spares.step_in(heir, node.seat) : node.seat.settled
        @manager.stopping? ? @manager.check : follow(node, standing, heir)
        @manager.emptied(node.mold)
      end

      # Who has claimed its seat. Nobody can from here on.
      def heir_of(node)
        return unless node == node.seat.node

        node.seat.claim.free(node)
        node.seat.claim.shut
      end

      def tell_of_end(node, exit)
        held = @manager.in_hand(node)
        reason = node.reason
        @manager.killed(node) if exit.signal && reason && reason != OomKills::REASON
        tell(:node_died, node, level: exit.clean? ? :info : :warn, **exit.to_plain, reason:,
                               at: node.kind_of_death, in_hand: held.any? ? held : nil)
      end

      # The process is gone. What it leaves its seat: see Seat#leave.
      def dismiss(node, exit)
        node.ended
        @watchman.forget(node)
        roster.remove(node)
        node.seat.leave(node, exit, OS.now, within: @config.restarts_within)
      end

      def follow(node, standing, heir = nil)
        seat = node.seat
        return @boots.pump if heir
        return @replacements.promoted(seat) if standing == :held

        @replacements.failed(seat)
        @succession.after(seat, node) if standing == :free && @manager.all.include?(seat)
        @boots.pump
      end

      def tell(...) = @tell.call(...)
    end
  end
end
