# frozen_string_literal: true

# The supervisor process of a swarm. It keeps molds and nodes running, does what signals ask for
# (supervisor/signal_handler.rb), and returns an exit code (supervisor/lifecycle.rb).
#
#   launcher = Molds::MoldLauncher::Exec.new("swarm.rb")
#   supervisor = Supervisor.new(launcher, observers: [Log::EventLog.new])
#   code = supervisor.run          # blocks; the table of codes is in docs/reference/exit_codes.md
#   supervisor.failures            # => sentences, if the swarm couldn't boot
#
# It loads no user code, has one thread and waits only in its event loop. Nodes::NodePool manages
# the nodes, Molds::MoldPool the molds.
module Skep
  class Swarm
    class Supervisor
      # Seconds from the kill of all nodes until molds that haven't reported their exits are killed.
      FORCE_SECONDS = 2.0
      # Seconds beyond stop_timeout after which a stop ends in which skep itself has failed.
      STOP_MARGIN = 5.0
      PILED_UP = "the supervisor had more than 10 errors within a minute, and ended the swarm: " \
                 "this is a bug in skep, please report the events supervisor_error in the log"

      private_constant :FORCE_SECONDS, :STOP_MARGIN, :PILED_UP

      attr_reader :config
      attr_reader :loop
      attr_reader :started_at
      attr_reader :node_pool
      attr_reader :abstract_lock # of the swarm's name, where there is no run directory
      attr_reader :events
      attr_reader :quiet_since # monotonic seconds; nil: it isn't asked to be

      # overrides: options of the command line, which take precedence over the environment's and
      # those over the file's.
      # signal_handler, orphan_reaper: classes; a simulation gives its own.
      def initialize(launcher, overrides: {}, observers: [], signal_handler: SignalHandler,
                     orphan_reaper: OrphanReaper)
        @signal_handler = signal_handler.new(self)
        @program = launcher.program?
        @orphan_reaper = orphan_reaper.new(program: @program, ours: method(:pids))
        @launcher = launcher
        @overrides = Definition::EnvironmentOptions.read.merge(overrides)
        @events = Runtime::EventBus.new { |too_many| error_caught(too_many) }
        @observers = observers
        @lifecycle = Lifecycle.new
        @untold = [] # events that the observers are to be told of
        events.subscribe { |event| tell(event) }
        @boot = BootMonitor.new(self)
      end

      # Runs the swarm until it has stopped and returns the exit code.
      def run
        run_until_stopped
      rescue SystemCallError => e # a later error is a bug of skep: keep its backtrace
        raise (OS::Refused.of(e) unless nodes_requested?) || e
      end

      # Observers may call these from within the loop.

      # signal: the signal that requested the stop. reason: why the swarm stops without a request
      # (Lifecycle#outcome).
      def stop(signal = nil, reason: nil)
        stopping = stopping?
        @lifecycle.stop(asked: reason.nil?, outcome: reason)
        return if stopping

        events.publish(:swarm_stopping, signal:, reason: reason&.to_s)
        limit_stop if events.errors?
        @node_pool ? @node_pool.stop : finish
      end

      def force(reason)
        events.publish(:swarm_forced, level: :warn, reason:)
        @lifecycle.force
        @node_pool ? @node_pool.kill_all(reason) : finish
      end

      def quiet
        events.publish(:swarm_quiet)
        @quiet_since ||= OS.now
        @lifecycle.quiet
        @node_pool&.quiet
      end

      # Nodes take new work again. Also reaches a node that was made quiet alone, by a TSTP.
      # Returns false if the swarm wasn't quiet.
      def end_quiet
        was_quiet = @lifecycle.end_quiet
        @quiet_since = nil
        events.publish(:swarm_resumed) if was_quiet
        @node_pool&.end_quiet
        was_quiet
      end

      def changes
        @changes ||= Rollout::ChangeCoordinator.new(self, @mold_pool)
      end

      def backtraces = @node_pool&.backtraces
      def snapshot = StatusReport.new(self).to_h

      # Returns the part of the snapshot that tells whether the swarm can work, as it is after JSON.
      def condition = StatusReport.new(self).condition

      # Returns the numbers of the nodes that charts show. It costs little, whatever nodes report.
      def figures = StatusReport.new(self).figures

      # Called for signals only.

      def reopen
        @name_lock&.restore # its file may have been removed
        each_observer(&:reopen)
      end

      # Reaps orphans after the messages that have arrived are handled: a mold that has exited may
      # have reported nodes before.
      def reap = loop.after(0) { @orphan_reaper.reap }

      # Returns the seconds that a mold may take to become ready.
      def boot_limit
        option = Definition::Config::Options::ALL[:boot_timeout]
        given = @overrides["boot_timeout"]
        given = given.value if given.is_a?(Definition::EnvironmentOptions::Given)
        2 * (config&.longest(:boot_timeout) || option.read(given) || option.value)
      end

      # Called by MoldPool.

      # The first mold that has loaded the swarm file determines the configuration.
      def mold_loaded(mold, plain)
        configure(plain) unless config
        @mold_pool.prepare(mold) if config && failures.empty?
      end

      def mold_rejected(error, exit_code)
        fail_boot(error, ExitCode.of_boot([exit_code])) unless nodes_requested?
      end

      def mold_ready(mold)
        return if stopping? # it forks nothing more
        # It was to follow a mold that died, but a rollout has adopted its own meanwhile.
        return @mold_pool.retire(mold, in_use: false) if @node_pool.mold

        @lifecycle.run
        @node_pool.mold = mold
        @node_pool.start if mold.number.zero? || !nodes_requested?
        @lifecycle.request_nodes
        events.keep_running_after_errors
      end

      # obstacle: why it couldn't even begin to load; nil if that isn't known.
      def mold_exited(mold, exit_status, obstacle)
        return if stopping? || nodes_requested?
        return @boot.overdue if mold.kill_reason == "boot_timeout"

        why = [exit_status, *obstacle].join(": ")
        fail_boot("#{file}: the mold ended while it loaded it, #{why}")
      end

      # A mold or a node has started, and is the leader of a process group.
      def leader(pid) = @orphan_reaper.leader(pid)

      # Returns true if this exit was caused by the kernel's OOM killer.
      def oom?(exit) = @node_pool&.cgroup_memory&.oom?(exit)

      # Closes what is the supervisor's alone in a fork of this process: a mold, or a child that the
      # application forks. The swarm's name stays the supervisor's.
      def close_in_child
        @observers.each(&:close_in_child)
        close_channels(processes)
        @page&.close
        @name_lock&.close_in_child
        @in_forks.cancel
        loop.close
        @signal_handler.close_in_child
      end

      # Called by a reload whose code all nodes run from here on. The status report shows what the
      # works of the new file are. Their names, options and numbers of threads don't change.
      def code_adopted(plain)
        tasks = config.tasks.zip(works_of(plain)).map { |old, new| { **old, **new.slice("facts") } }
        @plain = { **@plain, "tasks" => tasks }
        @config = read(@plain)
        load_plugins
      end

      # Called by NodePool.

      # The first node is ready: from here on no failure is one of the boot.
      def booted
        @boot.over
        @boot = nil
      end

      def check_boot = @boot&.look

      # The next node is launched before the processes that the last one left are reaped.
      def node_exited
        reap
        check_boot
      end

      def node_warm(node)
        changes.refork(node) if config.refork_after && node.task
      end

      # Sends the status to the helper, which has asked for it.
      def send_status(node, number)
        return unless node.helper?

        StatusReport.by_size(snapshot).each do |facts|
          break if node.channel.post("answer", { number:, status: facts }, may_drop: true)
        end
      end

      # The last node of a mold is gone.
      def mold_unused(mold) = @mold_pool.release_if_unused(mold)

      # All nodes are killed: a mold that doesn't report their exits is stuck.
      def kill_molds_later = loop.after(FORCE_SECONDS) { @mold_pool.kill }

      # Ends the swarm because it can't boot. sentence: the error for the user.
      def fail_boot(sentence, exit_code = ExitCode::FAILED)
        @lifecycle.fail_boot(sentence, exit_code)
        @node_pool ? @node_pool.kill_all("boot_failed") : finish
      end

      # Ends the molds, then the loop, once there are no nodes.
      def finish
        return if @lifecycle.stopped?

        @lifecycle.finish
        @mold_pool.release { loop.stop }
      end

      # Returns the configuration: a file's plain data, overridden by the environment and the
      # command line.
      def read(plain)
        Definition::Config.new(plain["name"], plain["options"].merge(@overrides),
                               tasks: plain["tasks"], events: plain["events"])
      end

      # Returns the works of a file's plain data in the order of this swarm's; nil: one is missing.
      def works_of(plain)
        order = Definition::WorkNames.order(config.tasks, plain["tasks"])
        order && plain["tasks"].values_at(*order)
      end

      # Returns the revision of the code of a file with that plain data; nil if it isn't known.
      def revision(plain)
        read(plain).revision || Definition::Revision.found((file unless @launcher.program?))
      end

      def file = @launcher.file
      def state = @lifecycle.state
      def failures = @lifecycle.failures
      def outcome = @lifecycle.outcome
      def nodes_requested? = @lifecycle.nodes_requested?
      def quiet? = @lifecycle.quiet?
      def stopping? = @lifecycle.stopping?
      def asked_to_stop? = @lifecycle.asked?

      private

      def run_until_stopped
        OS::Refused.check
        Runtime::SocketActivation.take
        open
        @boot.watch
        @mold_pool.start
        loop.run
        code
      ensure
        close
      end

      # What is to be done comes first: they are told at the end of the turn, in the order of the
      # events. An error of theirs is told at once, so that their errors at that event end there.
      def tell(event)
        @untold << event
        return tell_observers if loop.nil? || event.name == :supervisor_error

        @telling = loop.after(0) { tell_observers } unless @telling&.pending?
      end

      def tell_observers
        while (event = @untold.shift)
          each_observer { |one| one.event(event.name.to_s, event.level, event.facts) }
        end
      end

      # An error of one affects neither the swarm nor the others.
      def each_observer
        @observers.each do |observer|
          events.guard("observer #{observer.class}", harmless: true) { yield observer }
        end
      end

      # too_many: what the supervisor knows may be wrong.
      def error_caught(too_many)
        limit_stop if stopping?
        @ending_after_errors ||= loop.after(0) { end_after_errors } if too_many
      end

      # The swarm ends, and its nodes as at any stop.
      def end_after_errors
        stopping = stopping?
        @lifecycle.fail_boot(PILED_UP, ExitCode::FAILED)
        limit_stop
        return if stopping

        events.publish(:swarm_stopping, reason: "supervisor_errors")
        error = events.guard("stop") { @node_pool ? @node_pool.stop : finish }
        terminate_nodes if error && @node_pool
      end

      # After an error of its own the supervisor can't rely on hearing that all nodes have ended.
      def limit_stop
        seconds = config ? config.longest(:stop_timeout) : 0
        @stop_limit ||= loop.after(seconds + STOP_MARGIN) { loop.stop }
      end

      def open
        @started_at = OS.now
        @loop = OS::EventLoop.new(guard: events.method(:guard))
        @mold_pool = Molds::MoldPool.new(@launcher, self, loop:, events:)
        @orphan_reaper.inherit
        @signal_handler.watch
        @in_forks = Skep.on_fork(child: -> { close_in_child unless Runtime::SelfPipe.handing_on? })
      end

      def configure(plain)
        @plain, @config = plain, read(plain)
        return invalid(config.errors) unless config.valid?

        set_title
        take_name
        @boot.watch
        build_pools
        start_observers
      rescue Skep::Error => e
        fail_boot(e.message, e.exit_code)
      end

      # Without a run directory the swarm runs all the same, unless the user has named it.
      def take_name
        @name_lock = NameLock.new(config.control_path, directory: config.control_directory,
                                                       socket: config.control?).take
      rescue Definition::RunDirectory::Unavailable => e
        raise if config.control_named?

        @unavailable = e
        @abstract_lock = AbstractNameLock.new(config.name, listen: config.control?).take
        @name_lock = @abstract_lock
      end

      # Says what is missing without a run directory.
      def warn_of_run_directory
        missing = if @abstract_lock.server
          "Commands, top and the page find this swarm only in this container and as this user"
        elsif config.control?
          "Commands such as skep status, top and the page can't reach this swarm; signals can"
        else
          "Another swarm may have the same name unnoticed" unless @abstract_lock.held?
        end
        events.publish(:run_directory_unusable, level: :warn, error: @unavailable.obstacle,
                                                hint: [*missing, @unavailable.advice].join(": "))
      end

      def invalid(errors)
        errors.each { |why| fail_boot("#{file}: #{why}", ExitCode::CONFIGURATION) }
      end

      def build_pools
        slots = config.placement.size + config.spares + 1 # one for the helper
        @layout = IPC::Scoreboard::Layout.new(nodes: Nodes::NodeTable.slots_for(slots),
                                              threads: config.threads)
        @page = OS::SharedPage.create(@layout.total)
        @node_pool = Nodes::NodePool.new(self, config, @lifecycle, loop:, events:, page: @page,
                                                                   layout: @layout)
        @mold_pool.configure(config, @page, @layout)
      end

      def set_title
        Process.setproctitle("skep #{config.name} supervisor") if config.process_titles
      end

      def start_observers
        @observers.each { |observer| observer.configured(self) } # one that can't ends the boot
        events.publish(:swarm_started, pid: Process.pid, nodes: config.placement.size,
                                       skep: VERSION, ruby: RUBY_VERSION,
                                       revision: revision(@plain))
        warn_of_run_directory if @unavailable
        config.warnings.each { |error| events.publish(:option_ignored, level: :warn, error:) }
        config.work_warnings.uniq.each do |warning|
          events.publish(:work_warning, level: :warn, warning:)
        end
        load_plugins
      end

      # Statuses need them later: what can't be loaded shows now.
      def load_plugins
        config.tasks.filter_map { |task| task.dig("facts", "kind") }.uniq.each do |kind|
          Plugin.find(kind)
        rescue ScriptError, StandardError => e
          events.publish(:work_warning, level: :warn,
                         warning: "skep/plugin/#{kind}.rb can't be loaded, so the status and the " \
                                  "metrics lack what it adds: correct it, and start the swarm " \
                                  "again: #{IPC::PlainData.error(e)}")
        end
      end

      def code = @lifecycle.exit_code

      # An exception raised out of the loop, such as Timeout around `run`, kills all processes at
      # once. After a stop there are none left, unless the supervisor itself failed in it.
      def close
        end_processes if @mold_pool
        if @node_pool
          events.publish(:swarm_stopped, exit_code: code, duration: (OS.now - started_at).round(3))
        end
        tell_observers
        each_observer(&:on_close)
        @page&.close
        @name_lock&.release
        @in_forks&.cancel
        loop&.close
        @signal_handler.release(program: @program)
      end

      def end_processes
        kill_all
        @orphan_reaper.reap_all.each do |pid|
          events.publish(:orphan_left, level: :warn, pid:,
                                       error: "it belongs to another user, and can't be ended")
        end
      end

      # The swarm's own processes. OrphanReaper deals with all others. Once the molds are reaped,
      # their nodes are children of this process.
      def processes = [*@mold_pool.molds, *@node_pool&.node_table&.nodes]

      # nil: of one that is about to be forked.
      def pids = processes.map(&:pid)

      # Asks each node to end by its signal, as its channel may be the reason.
      def terminate_nodes
        @node_pool.node_table.nodes.each do |node|
          node.pidfd&.signal(:TERM)
        rescue SystemCallError # it has ended, or is another user's
          next
        end
      end

      def kill_all
        left = processes.each { |process| process.kill("abandoned") }
        deadline = OS.now + FORCE_SECONDS
        left.each { |process| process.pidfd&.wait(timeout: [deadline - OS.now, 0].max) }
        close_channels(left)
      end

      def close_channels(processes)
        processes.each { |process| [process.channel, process.pidfd].compact.each(&:close) }
      end
    end
  end
end

require "skep/swarm/supervisor/observer"
require "skep/swarm/supervisor/acceptor"
require "skep/swarm/supervisor/boot_monitor"
require "skep/swarm/supervisor/lifecycle"
require "skep/swarm/supervisor/signal_handler"
require "skep/swarm/supervisor/orphan_reaper"
require "skep/swarm/supervisor/name_lock"
require "skep/swarm/supervisor/abstract_name_lock"
require "skep/swarm/supervisor/status_report"
