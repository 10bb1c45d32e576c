# frozen_string_literal: true

# The process that keeps a swarm: signals in, molds and nodes kept, an exit code out.
#
#   supervisor = Supervisor.new(Origin::SwarmFile.new("swarm.rb"), observers: [Watch::Log.new])
#   code = supervisor.run          # blocks; the table of codes is in docs/cli.md
#   supervisor.failures            # => sentences, when it could not boot
#
# It loads no user code, has no thread and waits in one place, the loop.
# Nodes are the Manager's, molds the Foundry's.
module Skep
  class Swarm
    class Supervisor
      include Upgradable

      # How long a forced end waits for the mold's word before the mold is killed too.
      FORCE_SECONDS = 2.0

      private_constant :FORCE_SECONDS

      attr_reader :config #: Config?
      attr_reader :loop #: OS::Loop
      attr_reader :started_at #: Float
      attr_reader :manager #: Manager?
      attr_reader :arguments #: Array[String]?, of the `skep run` that began it
      attr_reader :tally #: Tally

      # overrides: options that the command line sets over the file's.
      def initialize(origin, overrides: {}, observers: [], arguments: nil)
        @arguments = arguments
        @origin = origin
        @overrides = overrides
        @observers = Observers.new([@tally = Tally.new, *observers])
        @course = Course.new
        @boot = FirstBoot.new(self, overrides["boot_timeout"] || Option::ALL[:boot_timeout].value)
      end

      # Runs the swarm to its end and returns the exit code.
      def run #: () -> Integer
        keep_on do
          OS::Refused.check
          Sockets.take
          open
          @boot.watch
          @foundry.start
        end
      rescue SystemCallError => e # what is wrong later is a mistake of ours, and shows its place
        raise (OS::Refused.of(e) unless booted?) || e
      end

      # What an observer may ask of it, from within the loop.

      # signal: which one it obeys; reason: why it stops on its own (Manager#outcome).
      def stop(signal = nil, reason: nil) #: (?String?, ?reason: Symbol?) -> void
        @course.asked unless reason
        return if stopping?

        emit(:swarm_stopping, :info, { signal:, reason: }.compact)
        @course.stopping
        @manager ? @manager.stop : finish
      end

      def force(reason) #: (String) -> void
        emit(:swarm_forced, :warn, { reason: })
        @course.forced
        @manager ? @manager.force(reason) : finish
      end

      def quiet #: () -> void
        emit(:swarm_quiet, :info, {})
        @course.quiet
        @manager&.quiet
      end

      def changes = @changes ||= Changes.new(self, @foundry) #: () -> Changes

      def backtraces = @manager&.backtraces #: () -> void
      def snapshot = Snapshot.new(self).to_h #: () -> Hash[Symbol, untyped]

      # Asked by signals only.

      def reopen #: () -> void
        @premises&.reopen
        @observers.each_guarded(&:reopen)
      end

      def reap = @office.strangers.tend #: () -> void

      # Asked by the Foundry, its Reports and its Recasting.

      def emit(name, level, facts) #: (Symbol | String, Symbol, Hash) -> void
        @observers.event(name.to_s, level, facts)
        @changes&.look
        # The helper doesn't hear of itself: its own news would never end.
        @manager&.overheard(name.to_s, facts) unless facts[:node] == "helper"
      end

      # A mold has loaded its file: its word is the configuration, the first time.
      def loaded(mold, plain)
        configure(plain) unless config
        mold.prepare(config, @premises.page, @premises.cells) if config && failures.empty?
      end

      # A mold can fork.
      def mold_ready(mold)
        return finish if stopping?

        @course.running
        @manager.mold = mold
        @manager.start if mold.number.zero? || !booted?
        @course.booted
      end

      # A mold or a node is there, and leads a group.
      def leader(pid) = @office.strangers.leader(pid)

      # How long a mold may take to be ready.
      def boot_limit = @boot.limit

      def mold_died(mold) = @manager&.registrar&.mold_died(mold)

      # There is no swarm to run: says why, ends what there is and exits with that code.
      def fail(sentence, exit_code = ExitCode::FAILED)
        @course.failed(sentence, exit_code)
        @manager ? @manager.force("boot_failed") : finish
      end

      # Asked by the Manager.

      def told(name, level, facts)
        emit(name, level, facts)
        loop.after(0) { reap } if name == :node_died # the next node comes first
        @boot.look(name)
      end

      # Nodes are being killed: should their mold not report it, it is stuck.
      def forced
        loop.after(FORCE_SECONDS) { @foundry.kill }
      end

      # It has done enough work to be forked from.
      def warm(node) = changes.refork(node)

      # The nodes' signs of life have been looked at.
      def looked(...) = @foundry.call_roll(...)

      # The file has been loaded again: what its works are is shown as it is now. How many nodes
      # and threads each has stays.
      def reloaded(plain)
        tasks = config.tasks.zip(plain["tasks"]).map { |old, new| { **old, **new.slice("facts") } }
        @plain = { **@plain, "tasks" => tasks }
        @config = read(@plain)
      end

      # None of its nodes is left.
      def emptied(mold) = @foundry.emptied(mold)

      # No node is left, or none ever was: the molds go, then the loop ends.
      def finish
        return if @course.stopped?

        @course.stopped
        @boot.over
        @foundry.release { loop.stop }
      end

      # What a file's plain data says, and the command line over it.
      def read(plain) #: (Hash[String, untyped]) -> Config
        Config.new(plain["name"], plain["options"].merge(@overrides),
                   tasks: plain["tasks"], events: plain["events"])
      end

      def file = @origin.file #: () -> String
      def state = @course.state #: () -> Symbol
      def failures = @course.failures #: () -> Array[String]
      def booted? = @course.booted? #: () -> bool
      def stopping? = @course.stopping? #: () -> bool
      def asked_to_stop? = @course.asked? #: () -> bool

      private

      def open
        @started_at = OS.now
        @loop = OS::Loop.new
        disown = method(:disown)
        @office = Office.new(self, program: @origin.program?, ours: method(:ours), forked: disown)
        @foundry = Foundry.new(@origin, self, disown:)
        @household = Household.new(self, @foundry)
        @office.take
      end

      def keep_on
        yield
        loop.run
        code
      ensure
        close
      end

      def configure(plain)
        @plain, @config = plain, read(plain)
        return invalid(config.errors) unless config.valid?

        entitle
        @premises = Premises.new(config)
        @premises.occupy
        @boot.watch
        appoint
        start_observers
      rescue Skep::Error => e
        fail(e.message, e.exit_code)
      end

      def invalid(errors)
        errors.each { |why| fail("#{file}: #{why}", ExitCode::CONFIGURATION) }
      end

      # kept: the seats that there are already.
      def appoint(kept: nil)
        @manager = Manager.new(config, self, loop:, page: @premises.page, cells: @premises.cells,
                                             kept:)
      end

      def entitle
        Process.setproctitle("skep #{config.name} supervisor") if config.title
      end

      def start_observers
        @observers.configured(self)
        emit(:swarm_started, :info, { pid: Process.pid, nodes: config.placement.size,
                                      skep: VERSION, ruby: RUBY_VERSION })
        config.warnings.each { |sentence| emit(:option_idle, :warn, { message: sentence }) }
      end

      def code = @course.code(@manager&.outcome, killed: @manager&.killed?)

      # Something that was raised out of the loop, such as a Timeout around `run`, ends all at once.
      def close
        @household&.abandon(FORCE_SECONDS) unless @course.stopped?
        @office&.strangers&.sweep
        if @manager
          emit(:swarm_stopped, :info, { status: code, seconds: (OS.now - started_at).round(3) })
        end
        @observers.each_guarded(&:closed)
        @premises&.leave
        @office&.lay_down
      end

      # In a mold forked from this very process, and in whatever else its program forks: nothing of
      # the supervisor's stays open.
      def disown
        [@observers, @household, @premises, @office].compact.each(&:disown)
      end

      def ours = @household.pids << @changes&.trial
    end
  end
end
