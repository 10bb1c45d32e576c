# frozen_string_literal: true

# A node's own process, from the fork to its exit status. The same class runs spares and the helper.
#
#   status = NodeMain.new(swarm, frame.facts, channel:, …).run  # => an exit status, or :become_mold
#
# | it ended because | status |
# |---|---|
# | the work returned, or the node was stopped | 0 |
# | the work or on_boot raised | 1 |
# | it was forced by a signal sent to the node itself | 2 |
# | its supervisor died | 3 |
# | it had no descriptor, memory or thread to begin with (ForkServer) | 75 |
#
# After :become_mold its caller ends it as a node (`leave`, then `became_mold` or `unfit`) and
# starts the mold.
module Skep
  class Swarm
    module Processes
      class NodeMain
        SIGNALS = %w[TERM INT QUIT TSTP TTIN].freeze
        # Those of the supervisor. A mold and a node take them too unless the application handles
        # them: they may be sent to all processes of a swarm, and the kernel sends HUP to a stopped
        # one whose parent dies.
        SUPERVISOR_SIGNALS = %w[USR1 USR2 HUP].freeze
        LAST_WORDS_SECONDS = 1.0
        DROPPABLE = %w[event work unhealthy healthy].freeze
        private_constant :LAST_WORDS_SECONDS, :DROPPABLE

        # birth: the fields of the message `fork`. No "task" is the helper, or a "spare". control: a
        # ControlThread that serves no node yet. pages: see IPC::ProgressPages.
        def initialize(swarm, birth, channel:, page:, layout:, config:, control:, pages: [])
          @swarm, @birth, @channel, @config = swarm, birth, channel, config
          @page, @layout = page, layout
          @control = control
          @pid = Process.pid
          @dropped = 0
          @drops = Mutex.new
          @node = Node.new(id: birth["node"], page_index: birth["page_index"], swarm: swarm.name,
                           mold: birth["mold"], page:, layout:, report: method(:report),
                           placed: birth["placed"], warm_after: config.refork_after,
                           suspects: birth["suspects"], pages:, **timeouts(definition || config),
                           work_name: definition&.name, revision: config.revision,
                           on_error: swarm.__hooks(:on_error))
          @helper_main = helper_main if helper?
        end

        def run
          take_control
          status = attempt { helper? ? @helper_main.run : work }
          report_end_of_work(status) unless @node.stopping? # it has said so when it was asked
          run_exit_hooks
          forked? ? status : finish(status)
        end

        # The number of the mold that it is to become, and the socket for its channel.
        def mold_order = @node.__mold_order

        # Ends the control thread, so that nothing but the caller runs here.
        def leave = [@control, @node].each(&:leave)

        def became_mold
          report("became_mold", {})
          @control.flush(LAST_WORDS_SECONDS)
          @channel.close
          ENV.delete("SKEP_NODE_ID")
        end

        # It can't become a mold, for that reason. Returns its exit status.
        def unfit(sentence)
          report("unfit", { "sentence" => sentence })
          last_words(ExitCode::OK)
        end

        private

        def take_control
          @standby = standby if spare?
          @meter = memory_meter unless helper?
          @control.serve(@node, @channel, meter: @meter) { |frame| handle(frame) }
          ENV["SKEP_NODE_ID"] = @node.id&.to_s
          Runtime::SocketActivation.announce if ENV.key?(Runtime::SocketActivation::COUNT)
          set_title
        end

        def set_title
          return unless @config.process_titles

          Process.setproctitle("skep #{@swarm.name} #{role} (mold #{@node.mold})")
        end

        def role
          return "helper" if helper?
          return "spare" unless @node.id

          [*(definition.name if definition&.one_of_several?), "node #{@node.id}"].join(" ")
        end

        # Its work as the supervisor knows it; nil: it has none, or not yet.
        def definition = @birth["task"] && @config.works[@birth["task"]]

        # The options that the node itself must know. They are those of its work, if it has one.
        def timeouts(options)
          { beat_every: options.beats_within / Health::LivenessPolicy::BEATS,
            stop_timeout: options.stop_timeout, boot_timeout: options.boot_timeout }
        end

        def standby
          StandbyWait.new(@node, report: method(:report)) do |task|
            @birth = { **@birth, "task" => task }
            @node.__take_work(definition.name, **timeouts(definition))
            @meter.limit = definition.memory_limit
          end
        end

        def work
          @swarm.__hooks(:on_boot).each { |hook| hook.call(@node) }
          OS::ProcessTree::ParentDeathWatch.renew # a hook may have changed user or handler
          task = spare? ? step_in : @birth["task"]
          return if @node.stopping?

          @node.__work_begins_at(@config.works.first(task).sum(&:nodes))
          @swarm.tasks.fetch(task).run(@node, around: @swarm.__hooks(:around_handler))
        end

        # Returns true in a process that the work forked without a block and that has returned from
        # there. It is no node: it runs no exit path of the node's and writes nothing to its
        # channel.
        def forked? = Process.pid != @pid

        def run_exit_hooks
          return if helper? || forked?

          attempt { @swarm.__hooks(:on_exit).each { |hook| hook.call(@node) } }
        end

        def finish(status)
          return :become_mold if status.zero? && mold_order && !@control.orphaned?

          last_words(status)
        end

        # Sends what is queued, and returns the exit status.
        def last_words(status)
          @control.flush(LAST_WORDS_SECONDS)
          @control.orphaned? ? ControlThread::ORPHANED : status
        end

        # A spare waits for a slot. Returns the kind of work of that slot.
        def step_in
          @standby.wait.tap { set_title }
        end

        def spare? = @birth["spare"]
        def helper? = @birth["task"].nil? && !spare?

        # Messages that the control thread doesn't handle.
        def handle(frame)
          case frame.type
          when "measure" then @meter&.measure
          when "chaos" then FaultInjection.run(frame["order"], frame["bytes"]) if @config.chaos
          else (@helper_main || @standby)&.receive(frame)
          end
        end

        def memory_meter
          Memory::MemoryMeter.new(@page, @layout.memory(@birth["page_index"]), @config,
                                  nodes: @config.works.sum(&:nodes)).tap do |meter|
            meter.limit = definition.memory_limit if definition
          end
        end

        def helper_main
          HelperMain.new(@swarm.listeners, @node, query: SupervisorQuery.new(method(:report)),
                                                  logger: @swarm.__logger)
        end

        def attempt
          yield
          0
        rescue Exception => e # the user's work may raise anything; the supervisor must know it
          raise if forked?

          status_of(e)
        end

        # The cause is reported before the blocks of on_error run, as one of them may never return.
        def status_of(error)
          status = report_end(error)
          @node.__failed(error) unless error.is_a?(SystemExit)
          status
        end

        def report_end_of_work(status)
          report("leaving", { "for_quiet" => status.zero? && @node.__ended_for_quiet? })
        end

        def report_end(error)
          case error
          when BootError
            failed(IPC::PlainData.message(error), { "refused" => !@node.__ready?,
                                                    "exit_code" => ExitCode.of_error(error) })
          when SystemExit then error.status
          else
            failed(IPC::PlainData.error(error),
                   { "at" => ErrorPlace.of(error), "backtrace" => ErrorPlace.backtrace(error) })
          end
        end

        # Reports a failure and returns the exit status for it.
        def failed(sentence, facts)
          report("failed", { "sentence" => sentence, **facts })
          1
        end

        # Reports also how many messages a full channel has dropped, as soon as there is room.
        # Returns false if the channel doesn't take this one.
        def report(type, facts)
          return false if forked? || @standby&.hold_back?(type)

          may_drop = DROPPABLE.include?(type)
          sent = @control.post(type, facts, may_drop:)
          if may_drop && !sent
            @drops.synchronize { @dropped += 1 }
          elsif @dropped.positive?
            report_dropped
          end
          sent
        end

        # A message that may not be dropped is taken by a full channel, too: there may be no room
        # for this report yet.
        def report_dropped
          @drops.synchronize do
            sent = @control.post("event", { "name" => "events_dropped", "level" => "warn",
                                            "facts" => { "count" => @dropped } }, may_drop: true)
            @dropped = 0 if sent
          end
        end
      end
    end
  end
end
