# frozen_string_literal: true

# Keeps the molds: starts them, follows each to its end, and lets them go when all is over.
#
#   foundry = Foundry.new(origin, supervisor, disown:)
#   foundry.start
#   foundry.release { … }     # all molds are gone
#
# What a mold says is passed on by Reports; what follows its end Recasting knows.
module Skep
  class Swarm
    class Foundry
      RELEASE_SECONDS = 1.0
      private_constant :RELEASE_SECONDS

      def initialize(origin, supervisor, disown:) #: (untyped, Supervisor, disown: Proc) -> void
        @origin = origin
        @supervisor = supervisor
        @disown = disown
        @molds = []
        @next = 0
        @reports = Reports.new(supervisor, origin, tell: method(:emit))
        @recasting = Recasting.new(supervisor, self, origin.file)
      end

      attr_reader :molds #: Array[Mold]

      # Starts a mold; what it says comes through the loop, and to its trial if it is on one.
      def start(trial: nil) #: (?trial: Trial?) -> Mold
        number = self.number
        pid, channel = @origin.start(number, disown: @disown)
        mold = Mold.new(number, pid, link(pid, channel), OS.now)
        mold.trial = trial
        @molds << mold
        follow(mold)
        emit(:mold_booting, :debug, mold)
        mold
      end

      def keep(handover) #: (Handover) -> Hash[String, untyped]
        { "next" => @next, "deaths" => @recasting.keep, "molds" => @molds.map { |mold|
          { "number" => mold.number, "pid" => mold.pid, "started_at" => mold.started_at,
            "retired" => mold.retired?, "pidfd" => handover.lend(mold.pidfd),
            "socket" => handover.lend(mold.channel), "channel" => mold.channel.keep }
        } }
      end

      # Molds that work since before this program began.
      def recall(plain, handover) #: (Hash[String, untyped], Handover) -> void
        @next = plain["next"]
        @recasting.recall(plain["deaths"])
        @molds = plain["molds"].map { |kept| resume(kept, handover) }
        @molds.each { |mold| follow(mold) }
      end

      # A number for a mold that isn't started but made from a node.
      def number = (@next += 1) - 1 #: () -> Integer
      def newest = @next - 1 #: () -> Integer, the number given last

      # A node has become a mold.
      #: (Integer, Integer, OS::Pidfd, Channel, trial: Trial) -> Mold
      def take(number, pid, pidfd, channel, trial:)
        mold = Mold.new(number, pid, link(pid, channel), OS.now, pidfd:)
        mold.trial = trial
        @molds << mold
        follow(mold)
        mold
      end

      # Nodes come from it alone from here on.
      def adopted(mold) = mold.trial = nil #: (Mold) -> void

      # No node is to come from it any more: it goes when its last node has gone.
      def retire(mold) #: (Mold) -> void
        mold.retire
        emptied(mold) if @supervisor.manager.roster.of(mold).empty?
      end

      # None of its nodes is left.
      def emptied(mold) #: (Mold) -> void
        mold.release if mold.retired? && mold.live?
      end

      # Are they there? Asked whenever somebody looks at the nodes anyhow; away: we ourselves were.
      def call_roll(now, away) #: (Float, bool) -> void
        ready = @molds.select(&:ready?)
        calls.excuse(now) if away
        calls.silent(ready, now).each { |mold| hung(mold) }
        calls.call(ready, now) { |mold| mold.channel.send("ping") }
      end

      # Ends every mold at once.
      def kill = @molds.each(&:kill) #: () -> void

      # Lets every mold go, a busy one by force; the block is called when none is left.
      def release(&done) #: () { () -> void } -> void
        @done = done
        @molds.each { |mold| mold.ready? ? mold.release : mold.kill }
        loop.after(RELEASE_SECONDS) { kill }
        check
      end

      private

      def loop = @supervisor.loop
      def calls = @calls ||= RollCall.new(timeout: @supervisor.config.liveness_timeout)
      def find(pid) = @molds.find { |mold| mold.pid == pid }

      # A mold that closes its channel, or says what can't be understood, is of no use any more.
      def link(pid, channel)
        Link.new(loop, channel, Messages::FROM_MOLD,
                 ended: -> { find(pid)&.kill },
                 garbled: ->(error) { garbled(find(pid), error) },
                 failed: ->(error, frame) { failed_at(find(pid), error, frame) }) do |frame|
          hear(find(pid), frame)
        end
      end

      def resume(kept, handover)
        pid = kept["pid"]
        channel = Channel.new(handover.take(kept["socket"], UNIXSocket)).recall(kept["channel"])
        mold = Mold.new(kept["number"], pid, link(pid, channel), kept["started_at"],
                        pidfd: OS::Pidfd.adopt(handover.take(kept["pidfd"]), pid))
        mold.ready
        mold.retire if kept["retired"]
        mold
      end

      def hear(mold, frame)
        @calls&.answered(mold)
        @reports.hear(mold, frame)
      end

      def garbled(mold, error)
        emit(:mold_garbled, :error, mold, error: Plain.error(error))
        mold.kill
      end

      # Our own failure to act on a message, which isn't the mold's. Before a node was asked for
      # there is nothing to be kept: the supervisor ends by it, with a sentence or its place.
      def failed_at(mold, error, frame)
        raise error unless @supervisor.booted?

        emit(:supervisor_error, :error, mold, message: frame.type, error: Plain.error(error),
                                              backtrace: error.backtrace.to_a.first(20))
      end

      def follow(mold)
        @supervisor.leader(mold.pid)
        mold.watches << loop.watch(mold.pidfd.to_io) { died(mold) }
        mold.watches << loop.after(@supervisor.boot_limit) { mold.kill unless mold.ready? }
        mold.channel.listen
      end

      def hung(mold)
        emit(:mold_hung, :error, mold, **(OS::Vitals.of(mold.pid)&.to_plain || {}))
        mold.kill
      end

      def died(mold)
        mold.channel.drain
        ready = mold.ready?
        exit = mold.ended
        @molds.delete(mold)
        @origin.failed unless ready || exit.clean? || @done
        tell_of_end(mold, exit)
        @supervisor.mold_died(mold)
        mold.trial&.drop("its mold ended, #{exit}")
        @recasting.after(exit) unless mold.trial || mold.retired?
        check
      end

      def tell_of_end(mold, exit)
        return if @done && exit.clean?

        level = @done || (mold.retired? && exit.clean?) ? :debug : :warn
        reason = OomKills::REASON if oom?(mold, exit)
        emit(:mold_died, level, mold, **exit.to_plain, reason:)
      end

      def oom?(mold, exit)
        !mold.killed? && @supervisor.manager&.surroundings&.oom?(exit)
      end

      def check
        @done&.call if @molds.empty?
      end

      def emit(name, level, mold, **facts)
        @supervisor.emit(name, level, { mold: mold.number, pid: mold.pid, **facts.compact })
      end
    end
  end
end
