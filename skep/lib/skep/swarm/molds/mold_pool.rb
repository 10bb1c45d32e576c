# frozen_string_literal: true

# Starts molds, follows each to its end, restarts them, and acts on what they send.
#
#   mold_pool = MoldPool.new(launcher, supervisor, loop:, events:)
#   mold_pool.start                            # the first mold loads the swarm's file
#   mold_pool.configure(config, page, layout)  # what that file has said
#   mold_pool.prepare(mold)
#   mold_pool.start(rollout)                   # a mold for that rollout to try
#   mold_pool.adopt(mold)                      # it is a candidate no longer
#   mold_pool.retire(mold, in_use: true)       # it leaves when its last node is gone
#   mold_pool.release { … }                    # all molds leave; called when none is left
#
# NodePool is told what molds report of nodes: node_forked, fork_failed, node_exited. What happens
# to a mold itself is told to the rollout that tries it, otherwise to the supervisor:
#
# | call | when |
# |---|---|
# | mold_loaded (mold, plain) | it has loaded the swarm's file and waits for `prepare` |
# | mold_rejected (error, exit_code) | it can't load the file, or prepare |
# | mold_ready (mold) | it can fork |
# | mold_exited (mold, exit_status, obstacle) | it has ended; its nodes work on |
module Skep
  class Swarm
    module Molds
      class MoldPool
        RELEASE_SECONDS = 1.0 # then a mold that was released is killed
        REMEMBERED = 1_000 # exits
        STUCK = "a process forked ahead gave no sign of life and was killed: a callback of " \
                "Skep.on_fork or a library's lock may have blocked it"
        private_constant :RELEASE_SECONDS, :REMEMBERED, :STUCK

        attr_reader :molds

        def initialize(launcher, supervisor, loop:, events:)
          @launcher = launcher
          @supervisor = supervisor
          @loop = loop
          @events = events
          @molds = []
          @next = 0
          @exited_at = []
          @backoff = Nodes::ForkBackoff.new
        end

        def configure(config, page, layout)
          @config = config
          @page = page
          @layout = layout
          @liveness = Health::LivenessPolicy.new(timeout: config.liveness_timeout)
          ping_in(config.liveness_timeout)
        end

        # Starts a mold. One that a rollout tries isn't restarted when it ends.
        def start(rollout = nil)
          number = take_number
          close_in_child = @supervisor.method(:close_in_child)
          pid, channel = @launcher.start(number, close_in_child:)
          mold = added(number, pid, channel, rollout)
          @events.publish(:mold_booting, mold, level: :debug)
          @supervisor.leader(pid)
          mold
        end

        # A number for a mold that isn't started but made from a node.
        def take_number = (@next += 1) - 1

        # A node of the mold `from` has become a mold, for that rollout to try.
        def take(number, pid, pidfd, channel, rollout, from:)
          add(number, pid, channel, OS.now, pidfd:, rollout:, revision: from.revision)
        end

        # The file may allow it more time to boot than was known before it was loaded.
        def prepare(mold)
          limit_boot(mold)
          mold.prepare(@config, @page, @layout)
        end

        def adopt(mold) = mold.adopt

        # Nothing is forked from it any more. in_use: it has nodes left.
        def retire(mold, in_use:)
          mold.retire
          release_one(mold) unless in_use
        end

        # The last node of this mold is gone.
        def release_if_unused(mold)
          release_one(mold) if mold.retired? && mold.live?
        end

        def kill = @molds.each(&:kill)

        # Lets every mold go, by force where it isn't ready yet. The block is called when none is
        # left.
        def release(&done)
          @done = done
          @molds.each { |mold| mold.booted? ? mold.release : mold.kill }
          @loop.after(RELEASE_SECONDS) { kill }
          check
        end

        private

        # A process without a descriptor to follow it can't be a mold: it ends with its channel.
        def added(number, pid, channel, rollout)
          add(number, pid, channel, OS.now, rollout:)
        rescue SystemCallError
          channel.close
          raise
        end

        def add(number, pid, channel, now, **rest)
          mold = nil
          connection = connect(channel, -> { mold })
          mold = Mold.new(number, pid, connection, now, **rest)
          @molds << mold
          mold.watches << @loop.watch(mold.pidfd.to_io) { exited(mold) }
          limit_boot(mold)
          connection.listen
          mold
        end

        # What wakes the loop up in the second half of the time serves as well.
        def ping_in(seconds)
          due = OS.now + seconds
          @loop.at(due, early: seconds / 2) { ping_molds(late: OS.now - due) }
        end

        # Pings the molds that wait for orders, and ends those that have sent nothing in a whole
        # liveness_timeout since their last ping. If the supervisor was paused, they may have been,
        # too, and that time begins anew.
        def ping_molds(late:)
          ping_in(@config.liveness_timeout)
          now = OS.now
          booted = @molds.select { |mold| mold.booted? && !mold.killed? }
          booted.each { |mold| mold.excuse(now) } if @liveness.paused?(late)
          silent = booted.select { |mold| mold.silent_for(now) >= @config.liveness_timeout }
          silent.each { |mold| hung(mold) }
          (booted - silent).each { |mold| mold.ping(now) }
        end

        # A mold that doesn't leave in that time is stuck.
        def release_one(mold)
          mold.release
          mold.leave_timer ||= @loop.deadline(@config.liveness_timeout) { mold.kill }
        end

        def limit_boot(mold)
          left = mold.started_at + @supervisor.boot_limit - OS.now
          mold.boot_timer = @loop.deadline([left, 0].max) do
            mold.kill("boot_timeout") unless mold.booted?
          end
        end

        # A mold whose channel ends can't be asked for anything any more.
        def connect(channel, mold)
          IPC::Connection.new(
            @loop, channel, IPC::Messages::FROM_MOLD,
            ended: -> { mold.call.kill if mold.call.live? },
            protocol_error: ->(error) { protocol_error(mold.call, error) },
            guard: ->(type, &block) { @events.guard(type, subject: mold.call, &block) }
          ) { |message| handle(mold.call, message) }
        end

        def handle(mold, message)
          mold.heard(OS.now)
          case message.type
          when "loaded" then loaded(mold, message.facts) if mold.state == :loading
          when "refused" then rejected(mold, message["sentence"], message["exit_code"])
          when "ready" then ready(mold, message) if %i[loading preparing].include?(mold.state)
          when "forked" then forked(mold, message)
          when "fork_failed"
            node_pool.fork_failed(message["page_index"], message["error"])
          when "preforked_stuck" then preforked_stuck(mold, message["pid"])
          when "exited"
            node_pool.node_exited(message["page_index"], message["pid"],
                                  IPC::ExitStatus.from(message.facts))
          end
        end

        def preforked_stuck(mold, pid)
          @events.publish(:preforked_stuck, level: :warn, mold: mold.number, pid:, error: STUCK)
        end

        def loaded(mold, plain)
          mold.loaded(plain["events"], @supervisor.revision(plain))
          owner(mold).mold_loaded(mold, plain)
        end

        # Who decides about it.
        def owner(mold) = mold.rollout || @supervisor
        def node_pool = @supervisor.node_pool

        # Before a mold was first ready the supervisor ends with that sentence, and its molds too.
        def rejected(mold, error, exit_code)
          working = @supervisor.nodes_requested?
          @events.publish(:mold_load_failed, mold, level: :error, error:) if working
          owner(mold).mold_rejected(error, exit_code)
          mold.kill if working && !mold.retired? # a rollout that has rolled back lets it leave
        end

        def ready(mold, message)
          mold.ready
          message["findings"].each do |finding|
            @events.publish(:fork_guard, mold, level: :warn, error: finding)
          end
          message["warnings"].each do |warning|
            @events.publish(:work_warning, mold, level: :warn, warning:)
          end
          warmed(mold, message)
          @events.publish(:mold_ready, mold, duration: message["seconds"].round(3),
                                           revision: mold.revision)
          node_pool.pass_on_events if message["passes_on"]
          owner(mold).mold_ready(mold)
        end

        # Warns of `reshare` if it was asked for and could not be done.
        def warmed(mold, message)
          refused = @config.reshare && message["warmup"]["reshare"].to_s.start_with?("skipped")
          steps = message["warmup"].transform_keys(&:to_sym)
          @events.publish(:mold_warmed, mold, level: refused ? :warn : :debug,
                                              slots: message["slots"], **steps)
          @launcher.warmed(slots: message["slots"], reshare: @config.reshare)
        end

        # A node that the supervisor has no descriptor for can't be kept: its channel closes, and so
        # it ends. The mold kills one that has closed its own end.
        def forked(mold, message)
          node_pool.node_forked(message["page_index"], message["pid"], pidfd(message))
        rescue Errno::EMFILE, Errno::ENFILE => e
          mold.end_process(message["pid"])
          node_pool.fork_failed(message["page_index"], e.message)
        end

        def pidfd(message)
          return OS::Pidfd.adopt(message.ios.first, message["pid"]) if message.ios.any?

          OS::Pidfd.open(message["pid"])
        rescue Errno::ESRCH # it has ended and is reaped: the mold reports how next
          nil
        end

        def protocol_error(mold, error)
          @events.publish(:mold_protocol_error, mold, level: :error,
                                                      error: IPC::PlainData.error(error))
          mold.kill("protocol_error")
        end

        def hung(mold)
          @events.publish(:mold_hung, mold, level: :error,
                                            **(OS::ProcessState.of(mold.pid)&.to_plain || {}))
          mold.kill("hung")
        end

        def exited(mold)
          mold.channel.drain
          retired = mold.retired?
          obstacle = @launcher.obstacle if mold.state == :loading && mold.kill_reason.nil?
          exit_status = mold.exited
          @molds.delete(mold)
          @launcher.failed unless mold.booted? || exit_status.clean? || @done
          report(mold, exit_status, retired, obstacle)
          node_pool&.mold_exited(mold)
          owner(mold).mold_exited(mold, exit_status, obstacle)
          restart unless mold.candidate? || retired
          check
        end

        # An end that the supervisor has caused isn't worth a warning.
        def report(mold, exit_status, retired, obstacle)
          return if @done && exit_status.clean?

          left = retired && (exit_status.clean? || (mold.candidate? && mold.killed?))
          level = @done || left ? :debug : :warn
          reason = mold.kill_reason ||
                   (IPC::ExitStatus::OOM if !mold.killed? && @supervisor.oom?(exit_status))
          @events.publish(:mold_died, mold, level:, **exit_status.to_plain, reason:,
                                            error: obstacle)
        end

        # The next mold starts at once or, if one exits after the other, after a backoff. A mold
        # that exits before one was ever ready isn't restarted: its file is at fault.
        def restart
          return if @supervisor.stopping? || !@supervisor.nodes_requested?

          @exited_at.shift if @exited_at.size > REMEMBERED
          @exited_at << OS.now
          start_in(Nodes::RestartPolicy.new(@config).delay(@exited_at, OS.now))
        end

        def start_in(seconds)
          @loop.after(seconds) { start_or_retry unless @supervisor.stopping? }
        end

        def start_or_retry
          start
          @backoff.granted
        rescue SystemCallError => e # no process or descriptor at the moment
          retry_in = @backoff.refused(OS.now)
          start_in(@backoff.retry_at - OS.now)
          return unless retry_in # a second mold is due, too

          @events.publish(:fork_failed, level: :error, mold: @next - 1, error: e.message, retry_in:)
        end

        def check
          @done&.call if @molds.empty?
        end
      end
    end
  end
end
