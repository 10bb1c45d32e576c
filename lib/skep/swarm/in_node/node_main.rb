# frozen_string_literal: true

# The life of a node, told from inside: from the instant after the fork to its exit status.
#
#   fork { exit NodeMain.new(swarm, birth, channel:, …).live }
#
# | it ended because | status |
# |---|---|
# | the work returned, or it was told to stop | 0 |
# | the work or on_boot raised | 1 |
# | it was forced by a signal sent to the node itself | 2 |
# | its supervisor died | 3 |
module Skep
  class Swarm
    module InNode
      class NodeMain
        SIGNALS = %w[TERM INT QUIT TSTP TTIN].freeze
        LAST_WORDS_SECONDS = 1.0
        DROPPABLE = %w[event work unhealthy healthy].freeze
        private_constant :LAST_WORDS_SECONDS, :DROPPABLE

        # birth: "node", "mold" and "task" numbers, no task for the helper, neither for a "spare";
        # control: one that serves nobody yet; mold_main: what a warm node goes on as (MoldMain).
        def initialize(swarm, birth, channel:, page:, layout:, config:, control:, mold_main:)
          @swarm, @birth, @channel, @config = swarm, birth, channel, config
          @control, @mold_main = control, mold_main
          @pid = Process.pid
          @dropped = 0
          @child = Child.new(id: birth["node"], page_index: birth["page_index"], swarm: swarm.name,
                             mold: birth["mold"], page:, layout:, report: method(:report),
                             beat_every: config.liveness_timeout / Health::LivenessPolicy::BEATS,
                             placed: birth["placed"], warm_after: config.refork_after,
                             suspects: birth["suspects"], stop_timeout: config.stop_timeout)
          @page, @layout = page, layout
          listen_to(swarm.listeners) if helper?
        end

        # Lives it and returns the exit status.
        def live #: () -> Integer
          take_control
          status = attempt { Runtime::Privileges.new(@config).assume && (helper? ? listen : work) }
          report("leaving", {})
          run_exit_hooks
          forked? ? status : finish(status)
        end

        private

        def take_control
          @standby = StandbyWait.new(@child, report: method(:report)) if spare?
          @control.serve(@child, @channel) { |frame| overhear(frame) }
          ENV["SKEP_NODE_ID"] = @child.id&.to_s
          Runtime::SocketActivation.announce
          entitle
        end

        def entitle
          return unless @config.title

          Process.setproctitle("skep #{@swarm.name} #{role} (mold #{@child.mold})")
        end

        def role
          return "helper" if helper?

          @child.id ? "node #{@child.id}" : "spare"
        end

        def work
          @swarm.__hooks(:on_boot).each { |hook| hook.call(@child) }
          OS::ProcessTree::ParentDeathWatch.renew # a hook may change user or trap CONT
          task = spare? ? step_in : @birth["task"]
          @swarm.tasks.fetch(task).run(@child) unless @child.stopping?
        end

        # Returns true in a process that the work forked without a block and that has returned from
        # there. It is no node: it runs no exit path of the node's and writes nothing to its
        # channel.
        def forked? = Process.pid != @pid

        def run_exit_hooks
          return if helper? || forked?

          attempt { @swarm.__hooks(:on_exit).each { |hook| hook.call(@child) } }
        end

        def finish(status)
          become_mold if status.zero? && @child.__calling && !@control.orphaned?
          @control.flush(LAST_WORDS_SECONDS)
          @control.orphaned? ? ControlThread::ORPHANED : status
        end

        # Returns only where it can't be one.
        def become_mold
          number, socket = @child.__calling
          signals, orphan_guard = @control.signals, @control.orphan_guard
          [@control, @child].each(&:leave)
          own = [socket, @channel, signals, *orphan_guard.supervisor]
          finding = @mold_main.unsafe(except: own).first
          return report("unfit", { "sentence" => finding }) if finding

          part
          @mold_main.take_over(IPC::Channel.new(socket), swarm: @swarm, number:, config: @config,
                                                         page: @page, layout: @layout, signals:,
                                                         orphan_guard:)
        end

        # It is a node no more.
        def part
          report("became_mold", {})
          @control.flush(LAST_WORDS_SECONDS)
          @channel.close
          ENV.delete("SKEP_NODE_ID")
        end

        # As a spare: waits for a slot.
        def step_in
          @standby.wait.tap { entitle }
        end

        def spare? = @birth["spare"]
        def helper? = @birth["task"].nil? && !spare?

        # What the control thread leaves to others.
        def overhear(frame)
          case frame.type
          when "measure"
            IPC::Scoreboard::MemorySample.leave(@page, @layout.memory(@birth["page_index"]))
          when "chaos" then FaultInjection.do(frame["order"], frame["bytes"]) if @config.chaos
          else (@listener || @standby)&.hear(frame)
          end
        end

        def listen_to(listeners)
          @listener = HelperMain.new(listeners, @child, line: SupervisorQuery.new(method(:report)))
        end

        def listen = @listener.run

        def attempt
          yield
          0
        rescue Exception => e # the user's work may raise anything; the supervisor must hear what
          raise if forked?

          status_of(e)
        end

        def status_of(error)
          case error
          when BootError
            failed(IPC::PlainData.message(error), { "refused" => !@child.__ready?,
                                                    "exit_code" => ExitCode.of_error(error) })
          when SystemExit then error.status
          else
            failed(IPC::PlainData.error(error),
                   { "backtrace" => (error.backtrace || []).first(20) })
          end
        end

        # Tells of a failure and returns the exit status for it.
        def failed(sentence, facts)
          report("failed", { "sentence" => sentence, **facts })
          1
        end

        # What a full channel made us drop is told as soon as something fits again.
        def report(type, facts)
          return if forked?

          may_drop = DROPPABLE.include?(type)
          sent = @control.post(type, facts, may_drop:)
          return @dropped += 1 if may_drop && !sent
          return if @dropped.zero?

          dropped, @dropped = @dropped, 0
          report("event", { "name" => "events_dropped", "level" => "warn",
                            "facts" => { "count" => dropped } })
        end
      end
    end
  end
end
