# frozen_string_literal: true

require "rbconfig"

# Continues the supervisor as another program, of a newer skep or on a newer Ruby, in the same
# process: execve(2) keeps its pid, its children and the descriptors that are lent to it.
#
# Upgrade tries the next program and executes it. StateFile is the document that it gets, an
# unlinked file whose descriptor stays open. Supervisor#dump lists what is in it, and each component
# dumps and restores its own part. Restore puts slots and nodes back in place.
#
#   upgrade = Upgrade.new(supervisor, mold_pool, ["/usr/bin/ruby", "/usr/bin/skep"]) { |why| … }
#   upgrade.start
#
# The block is called with a sentence if it fails; then this program continues.
#
# | state | what happens |
# |---|---|
# | trial | the next program runs beside this one, and must be able to restore everything |
# | waiting | once nothing is under way (Obstacles) it is executed, and signals are kept for it |
# | failed | this program continues |
module Skep
  class Swarm
    module Rollout
      class Upgrade
        include Runtime::StateMachine

        TRANSITIONS = {
          trial: { able: :waiting, fail: :failed },
          waiting: { fail: :failed },
          failed: {}
        }.freeze
        ABLE = "skep can go on from here" # what a trial prints in the end; other programs don't
        TRIAL_SECONDS = 30.0
        LATE = "it isn't ready in #{TRIAL_SECONDS} s"
        WAIT_SECONDS = 10.0
        TEXT = 65_536
        private_constant :TRIAL_SECONDS, :LATE, :WAIT_SECONDS, :TEXT

        # Returns why the supervisor can't be upgraded to this program now, or nil.
        def self.refusal(supervisor, mold_pool, program)
          return "your own program runs the supervisor: start it again" unless supervisor.arguments
          return "an upgrade needs skep's C extension" unless OS::SignalHandoff.supported?
          return "there is no such program: #{Array(program).join(" ")}" unless usable?(program)

          Obstacles.new(supervisor, mold_pool).first&.then { |what| "#{what}: try again" }
        end

        def self.usable?(program)
          program.is_a?(Array) && program.size == 2 && program.all? do |path|
            path.is_a?(String) && path.start_with?("/") && !path.include?("\0") && File.file?(path)
          end
        end
        private_class_method :usable?

        attr_reader :pid # the trial's

        def initialize(supervisor, mold_pool, program, &failed)
          @supervisor = supervisor
          @mold_pool = mold_pool
          @loop = supervisor.loop
          @program = program
          @failed = failed
          @state = :trial
          @printed = +""
        end

        def start
          @reader, writer = OS.pipe
          @pid = try(writer)
          @pidfd = OS::Pidfd.open(pid)
          @watches = [@loop.watch(@reader) { read }, @loop.watch(@pidfd.to_io) { tried },
                      @loop.after(TRIAL_SECONDS) { give_up(LATE) }]
          @subscription = @supervisor.events.subscribe { look }
        rescue StandardError => e # no process, descriptor or file to be had; this program continues
          give_up(e.message)
        ensure
          writer&.close
        end

        # Another change is asked for, and takes precedence.
        def give_way(change)
          give_up("a #{change} was asked for meanwhile: try again") unless change == "upgrade"
        end

        private

        def try(writer)
          OS::ProcessTree::ForkProbe.check
          state_file = StateFile.new
          file = state_file.write(@supervisor.dump(state_file), trial: true)
          kept = state_file.ios.to_h { |io| [io, io] }
          Process.spawn(state_file.environment, *command(file),
                        in: File::NULL, out: File::NULL, err: writer, pgroup: true,
                        close_others: true, **kept)
        ensure
          state_file&.close
        end

        def command(file)
          [*@program, "run", "--handed-over=#{file.fileno}", *@supervisor.arguments]
        end

        def read
          bytes = @reader.read_nonblock(TEXT, exception: false)
          @printed << bytes if bytes.is_a?(String) && @printed.bytesize < TEXT
          @watches.first.cancel if bytes.nil?
        end

        # The trial has ended.
        def tried
          status = @pidfd.wait(timeout: 0) or return
          read
          clear
          return give_up(failure_sentence(status)) unless status.success? && @printed.include?(ABLE)

          @watches = [@loop.after(WAIT_SECONDS) { give_up(obstacle) }]
          change(:able)
          look
        end

        def failure_sentence(status)
          first = @printed.lines.map(&:strip).reject(&:empty?).first
          first ||= status.success? ? "it is no skep, or another one" : IPC::ExitStatus.of(status).to_s
          "the new program can't take over: #{IPC::PlainData.text(first.delete_prefix("skep: "))}"
        end

        # Something has happened: it may be possible now, or over. Not at once: the event's other
        # subscribers act on it first.
        def look
          @look ||= @loop.after(0) do
            @look = nil
            look_now
          end
        end

        def look_now
          return if @state == :failed
          return give_up("the swarm is stopping") if @supervisor.stopping?

          switch if @state == :waiting && !obstacle
        rescue StandardError => e # it couldn't be executed, or its state not be written
          give_up(e.message)
        end

        def obstacle = Obstacles.new(@supervisor, @mold_pool).first

        # What is due, or was signalled, is done before.
        def switch
          return look if @loop.due?

          OS::SignalHandoff.hold(StateFile::SIGNALS)
          begin
            @supervisor.signalled? ? look : execute
          ensure
            OS::SignalHandoff.take_back
          end
        end

        # Returns, by an error, only if it can't be done.
        def execute
          state_file = StateFile.new
          file = state_file.write(@supervisor.dump(state_file))
          state_file.stay_open(true)
          exec(state_file.environment, *command(file))
        ensure
          state_file&.stay_open(false)
          state_file&.close
        end

        def give_up(why)
          return if @state == :failed

          change(:fail)
          @supervisor.events.unsubscribe(@subscription)
          kill_trial
          clear
          @failed.call(why)
        end

        # It is reaped with the orphans.
        def kill_trial
          @pidfd.signal(:KILL) if @pidfd && !@pidfd.closed?
        rescue Errno::ESRCH # it has ended already
          nil
        end

        def clear
          @watches&.each(&:cancel)
          [@pidfd, @reader].each { |held| held&.close }
          @pid = nil
        end

        # Why the supervisor can't be upgraded at this moment: the document has no place for what is
        # under way.
        #
        #   Obstacles.new(supervisor, mold_pool).first   # => nil, or "node 3 is booting"
        #
        # Each is over soon, or has a deadline of its own.
        class Obstacles
          def initialize(supervisor, mold_pool)
            @node_pool = supervisor.node_pool
            @molds = mold_pool.molds
          end

          def first
            mold || booting || slot || node
          end

          private

          def mold
            return "there is no mold to fork from" unless @node_pool.mold&.ready?

            coming = @molds.find { |mold| !settled?(mold) }
            coming && "mold #{coming.number} starts or stops"
          end

          # What waits to be sent the trial would send, too: it restores the channels. Descriptors
          # that are under way can't be handed over.
          def unfinished?(channel) = channel.fds_in_flight? || channel.pending?

          def settled?(mold)
            mold.booted? && !mold.candidate? && !mold.killed? && mold.channel.open? &&
              !unfinished?(mold.channel)
          end

          def booting
            return unless @node_pool.boots.any? || @node_pool.replacements.any?

            "a node is about to be forked or replaced"
          end

          # A slot whose next process isn't known yet.
          def slot
            slot = @node_pool.all.find { |one| one.successor || one.node&.stepping_in? }
            slot && "node #{slot.label} is being replaced"
          end

          def node
            node = @node_pool.node_table.nodes.find { |one| !at_work?(one) }
            node && "node #{node.label} is #{node.ready? ? "on its way out" : node.state}"
          end

          def at_work?(node)
            node.ready? && !node.lost? && node.pidfd && node.channel.open? &&
              !unfinished?(node.channel) && !node.terminated? && node.reason.nil? &&
              !@node_pool.hung_node_killer.running?(node)
          end
        end
      end
    end
  end
end

require "skep/swarm/rollout/upgrade/state_file"
require "skep/swarm/rollout/upgrade/restore"
