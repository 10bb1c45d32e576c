# frozen_string_literal: true

# Writes down each process' birth and readiness, and what becomes of it; its end is Endings'.
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
      attr_reader :suspicions #: Suspicions
      attr_reader :inquest #: Inquest
      attr_reader :notice #: Notice
      attr_reader :adoption #: Adoption
      attr_reader :succession #: Succession
      attr_reader :endings #: Endings

      def upkeep = @manager.upkeep #: () -> Upkeep
      def recoveries = endings.recoveries #: () -> Recoveries

      def initialize(manager, config, loop:, page:, cells:, tell:)
        @manager = manager
        @config = config
        @loop = loop
        @tell = tell
        @signs = Signs.new(page, cells)
        @notice = Notice.new(config, loop:)
        @suspicions = Suspicions.new(manager, signs:, tell:)
        @endings = Endings.new(manager, self, config, loop:, tell:)
        appoint_watchman
        appoint({ loop:, page:, cells: })
      end

      def forked(slot, pid, pidfd) #: (Integer, Integer, OS::Pidfd?) -> void
        node = roster[slot]
        return unwanted(pidfd) unless node && node.pid.nil?

        node.forked(pid, pidfd)
        node.expect_end { |killed| endings.expect(killed) }
        tell(:node_forked, node)
        node.channel.listen # not before: what it says must find a node with a pid
        admit(node)
        @adoption.follow(node) if node.live? && pidfd&.watchable?
      end

      # A node that works since before this program began.
      def resume(node, footprint) #: (Node, Hash[String, untyped]?) -> void
        node.expect_end { |killed| endings.expect(killed) }
        node.channel.listen
        node.mold.live? ? @adoption.follow(node) : @adoption.take(node)
        @watchman.watch(node)
        upkeep.resume(node, footprint)
        @succession.outlive(node)
        spares.consider(node.seat)
      end

      def link(node, channel) = @hearing.link(node, channel) #: (Node, Channel) -> Link

      def fork_failed(slot, error) #: (Integer, String) -> void
        node = roster[slot] or return
        endings.dismiss(node, Exit.new)
        unforked(node.seat, error)
      end

      def exited(slot, pid, exit) #: (Integer, Integer, Exit) -> void
        node = roster[slot]
        endings.settle(node, exit) if node&.pid == pid
      end

      # The mold is gone: its nodes fell to us, and those it hadn't reported are taken for lost.
      def mold_died(mold) #: (Mold) -> void
        @boots.lose(mold)
        roster.of(mold).each { |node| @adoption.take(node) }
      end

      def ready(node) #: (Node) -> void
        node.ready(OS.now)
        @manager.booted unless node.helper?
        tell(:node_ready, node, seconds: node.took.round(6))
        recoveries.ready(node, OS.now)
        @watchman.watch(node)
        upkeep.watch(node)
        @succession.outlive(node)
        @replacements.ready(node)
        spares.consider(node.seat)
        @boots.pump
      end

      # A spare has booted.
      def spare_ready(node) #: (Node) -> void
        node.spare(OS.now)
        tell(:spare_ready, node, seconds: node.took.round(6))
        @watchman.watch(node)
        @replacements.ready(node)
        @boots.pump
      end

      # The helper wants to know how things stand.
      def asked(node, number) = @manager.answer(node, number) #: (Node, Integer) -> void

      # It has done enough to be worth forking from.
      def warm(node) = @manager.warm(node) #: (Node) -> void

      # A node's process is a mold from here on.
      def became_mold(node) #: (Node) -> void
        pidfd = node.leave
        standing = endings.dismiss(node, nil)
        tell(:node_became_mold, node)
        node.refork.became(node, pidfd)
        endings.follow(node, standing) unless @manager.stopping?
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
        @adoption = Adoption.new(@loop, gone: endings.method(:gone), &endings.method(:settle))
        @hearing = Hearing.new(@loop, self, spares:, tell: @tell)
        @boots = BootQueue.new(@config, **shared, roster:, hearing: @hearing, suspicions:,
                                        failed: method(:no_channel))
        @replacements = Replacements.new(notice, boots: @boots, tell: @tell, spares:)
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

      # Nobody waits for that process any more: its node was given up while it was being forked.
      def unwanted(pidfd)
        pidfd&.signal(:KILL)
      rescue Errno::ESRCH # it went by itself first
        nil
      ensure
        pidfd&.close
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

      def tell(...) = @tell.call(...)
    end
  end
end
