# frozen_string_literal: true

# Keeps the molds: starts them, follows each to its end, and lets them go when all is over.
#
#   mold_pool = MoldPool.new(launcher, supervisor, disown:)
#   mold_pool.start
#   mold_pool.release { … }     # all molds are gone
#
# What a mold says is passed on by MoldMessages; what follows its end MoldRestarts knows.
module Skep
  class Swarm
    module Molds
      class MoldPool
        RELEASE_SECONDS = 1.0
        private_constant :RELEASE_SECONDS

        def initialize(launcher, supervisor, disown:) #: (untyped, Supervisor, disown: Proc) -> void
          @launcher = launcher
          @supervisor = supervisor
          @events = supervisor.events
          @disown = disown
          @molds = []
          @next = 0
          @reports = MoldMessages.new(supervisor, launcher, events: @events)
          @mold_restarts = MoldRestarts.new(supervisor, self, launcher.file)
        end

        attr_reader :molds #: Array[Mold]

        # Starts a mold; what it says comes through the loop, and to its trial if it is on one.
        def start(trial: nil) #: (?trial: Rollout::CanaryRollout?) -> Mold
          number = self.number
          pid, channel = @launcher.start(number, disown: @disown)
          mold = Mold.new(number, pid, link(pid, channel), OS.now)
          mold.trial = trial
          @molds << mold
          follow(mold)
          @events.publish(:mold_booting, mold, level: :debug)
          mold
        end

        def dump(state_file) #: (Upgrade::StateFile) -> Hash[String, untyped]
          { "next" => @next, "deaths" => @mold_restarts.dump, "molds" => @molds.map { |mold|
            { "number" => mold.number, "pid" => mold.pid, "started_at" => mold.started_at,
              "retired" => mold.retired?, "pidfd" => state_file.lend(mold.pidfd),
              "socket" => state_file.lend(mold.channel), "channel" => mold.channel.dump }
          } }
        end

        # Molds that work since before this program began.
        def restore(plain, state_file) #: (Hash[String, untyped], Upgrade::StateFile) -> void
          @next = plain["next"]
          @mold_restarts.restore(plain["deaths"])
          @molds = plain["molds"].map { |kept| resume(kept, state_file) }
          @molds.each { |mold| follow(mold) }
        end

        # A number for a mold that isn't started but made from a node.
        def number = (@next += 1) - 1 #: () -> Integer
        def newest = @next - 1 #: () -> Integer, the number given last

        # A node has become a mold.
        #: (Integer, Integer, OS::Pidfd, IPC::Channel, trial: Rollout::CanaryRollout) -> Mold
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
          release_if_unused(mold) if @supervisor.node_pool.node_table.of(mold).empty?
        end

        # None of its nodes is left.
        def release_if_unused(mold) #: (Mold) -> void
          mold.release if mold.retired? && mold.live?
        end

        # Are they there? Asked whenever the nodes' liveness is checked; paused: the supervisor was
        # before.
        def ping_idle(now:, paused:) #: (now: Float, paused: bool) -> void
          ready = @molds.select(&:ready?)
          calls.excuse(now) if paused
          calls.silent(ready, now).each { |mold| hung(mold) }
          calls.call(ready, now) { |mold| mold.channel.post("ping") }
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
        def calls = @calls ||= MoldPings.new(timeout: @supervisor.config.liveness_timeout)
        def find(pid) = @molds.find { |mold| mold.pid == pid }

        # A mold that closes its channel, or says what can't be understood, is of no use any more.
        def link(pid, channel)
          IPC::Connection.new(loop, channel, IPC::Messages::FROM_MOLD,
                              ended: -> { find(pid)&.kill },
                              protocol_error: ->(error) { protocol_error(find(pid), error) },
                              failed: ->(error, frame) {
                                failed_at(find(pid), error, frame)
                              }) do |frame|
            hear(find(pid), frame)
          end
        end

        def resume(kept, state_file)
          pid = kept["pid"]
          channel = IPC::Channel.new(state_file.take(kept["socket"],
                                                     UNIXSocket)).restore(kept["channel"])
          mold = Mold.new(kept["number"], pid, link(pid, channel), kept["started_at"],
                          pidfd: OS::Pidfd.adopt(state_file.take(kept["pidfd"]), pid))
          mold.ready
          mold.retire if kept["retired"]
          mold
        end

        def hear(mold, frame)
          @calls&.answered(mold)
          @reports.hear(mold, frame)
        end

        def protocol_error(mold, error)
          @events.publish(:mold_protocol_error, mold, level: :error,
                                                     error: IPC::PlainData.error(error))
          mold.kill
        end

        # Our own failure to act on a message, which isn't the mold's. Before a node was asked for
        # there is nothing to be kept: the supervisor ends by it, with a sentence or its place.
        def failed_at(mold, error, frame)
          raise error unless @supervisor.booted?

          @events.publish(:supervisor_error, mold, level: :error, message: frame.type,
                                                  error: IPC::PlainData.error(error),
                                                  backtrace: error.backtrace.to_a.first(20))
        end

        def follow(mold)
          @supervisor.leader(mold.pid)
          mold.watches << loop.watch(mold.pidfd.to_io) { died(mold) }
          mold.watches << loop.after(@supervisor.boot_limit) { mold.kill unless mold.ready? }
          mold.channel.listen
        end

        def hung(mold)
          @events.publish(:mold_hung, mold, level: :error,
                                           **(OS::ProcessState.of(mold.pid)&.to_plain || {}))
          mold.kill
        end

        def died(mold)
          mold.channel.drain
          ready = mold.ready?
          exit = mold.ended
          @molds.delete(mold)
          @launcher.failed unless ready || exit.clean? || @done
          tell_of_end(mold, exit)
          @supervisor.mold_died(mold)
          mold.trial&.drop("its mold ended, #{exit}")
          @mold_restarts.after(exit) unless mold.trial || mold.retired?
          check
        end

        def tell_of_end(mold, exit)
          return if @done && exit.clean?

          level = @done || (mold.retired? && exit.clean?) ? :debug : :warn
          reason = IPC::ExitStatus::OOM if oom?(mold, exit)
          @events.publish(:mold_died, mold, level:, **exit.to_plain, reason:)
        end

        def oom?(mold, exit)
          !mold.killed? && @supervisor.node_pool&.cgroup_memory&.oom?(exit)
        end

        def check
          @done&.call if @molds.empty?
        end

      end

      # What follows a mold's end: another one, at once or, should one die after the other, after a
      # while.
      #
      #   mold_restarts = MoldRestarts.new(supervisor, mold_pool, file)
      #   mold_restarts.after(exit)          # a mold has ended so: start the next
      #   mold_restarts.keep                 # => the deaths, for the next program
      #   mold_restarts.restore(deaths)
      #
      # How long it waits Health::RestartPolicy judges, by the deaths of all molds. One that ends
      # before the swarm has booted isn't followed: its file is told to be at fault.
      class MoldRestarts
        REMEMBERED = 1_000 # deaths
        RETRY_SECONDS = 1.0 # where the system refused a process
        private_constant :REMEMBERED, :RETRY_SECONDS

        def initialize(supervisor, mold_pool, file) #: (Supervisor, MoldPool, String) -> void
          @supervisor = supervisor
          @mold_pool = mold_pool
          @file = file
          @deaths = []
        end

        def after(exit) #: (IPC::ExitStatus) -> void
          return if @supervisor.stopping?
          unless @supervisor.booted?
            return @supervisor.fail("#{@file}: the mold ended while it loaded it, #{exit}")
          end

          @deaths.shift if @deaths.size > REMEMBERED
          @deaths << OS.now
          later(Health::RestartPolicy.new(@supervisor.config).delay(@deaths, OS.now))
        end

        def dump = @deaths #: () -> Array[Float]

        def restore(deaths) #: (Array[Float]) -> void
          @deaths = deaths
        end

        private

        def later(seconds)
          @supervisor.loop.after(seconds) { start unless @supervisor.stopping? }
        end

        def start
          @mold_pool.start
        rescue SystemCallError => e # no process or descriptor to be had just now
          @supervisor.events.publish(:fork_failed, level: :error, mold: @mold_pool.newest,
                                                   error: e.message, seconds: RETRY_SECONDS)
          later(RETRY_SECONDS)
        end
      end

      # Asks the molds, which wait until they are to fork, whether they are there.
      #
      #   calls = MoldPings.new(timeout: 30.0)
      #   calls.call(molds, now) { |mold| … }   # whenever somebody looks anyhow; for each to ask
      #   calls.answered(mold)                  # it has said something, whatever it was
      #   calls.silent(molds, now)              # => those that have said nothing for a timeout
      #   calls.excuse(now)                     # we were away: they have all the time again
      class MoldPings
        def initialize(timeout:) #: (timeout: Float) -> void
          @timeout = timeout
          @asked = {}.compare_by_identity
          @answered = {}.compare_by_identity
        end

        # Nobody is asked more often than once a timeout.
        #: (Array[Mold], Float) { (Mold) -> void } -> void
        def call(molds, now)
          forget_all_but(molds)
          molds.each do |mold|
            next if @asked[mold] && !(@answered[mold] && now - @asked[mold] >= @timeout)

            @asked[mold] = now
            @answered.delete(mold)
            yield mold
          end
        end

        def answered(mold) #: (Mold) -> void
          @answered[mold] = true
        end

        def silent(molds, now) #: (Array[Mold], Float) -> Array[Mold]
          molds.select do |mold|
            @asked[mold] && !@answered[mold] && now - @asked[mold] >= @timeout
          end
        end

        def excuse(now) = @asked.transform_values! { now } #: (Float) -> void

        private

        def forget_all_but(molds)
          [@asked, @answered].each { |known| known.select! { |mold, _| molds.include?(mold) } }
        end
      end
    end
  end
end
