# frozen_string_literal: true

# What a process takes on to be a supervisor, and lays down afterwards: signals are orders to it
# (SignalHandler), what its descendants leave behind falls to it (OrphanReaper), and a fork of it is
# no supervisor.
#
#   setup = ProcessSetup.new(supervisor, program: false, ours: -> { pids }, forked: -> { … })
#   setup.take
#   setup.strangers       # who fell to it
#   setup.signalled?      # has a signal come that isn't obeyed yet?
#   setup.lay_down
#
# All of it is the process' and no swarm's: in a program that became a supervisor it was otherwise
# before, and is so again.
module Skep
  class Swarm
    class Supervisor
      class ProcessSetup
        attr_reader :orphan_reaper #: OrphanReaper

        # program: we are somebody's program; ours: tells the pids of our molds and nodes; forked:
        # is called in whatever else the program forks.
        def initialize(supervisor, program:, ours:, forked:)
          @loop = supervisor.loop
          @program = program
          @forked = forked
          @orders = SignalHandler.new(supervisor)
          @orphan_reaper = OrphanReaper.new(program:, ours:)
        end

        def take #: () -> void
          OS::ProcessTree::Prctl.subreaper!
          @signals = Runtime::SelfPipe.new(SignalHandler::SIGNALS)
          @loop.watch(@signals.to_io) { @signals.take.uniq.each { |name| @orders.obey(name) } }
          @in_forks = Skep.on_fork(child: -> { @forked.call unless Runtime::SelfPipe.handing_on? })
        end

        # What has been signalled since the program before this one held signals back; nobody else
        # has those from here on.
        def take_over(state_file) #: (Rollout::Upgrade::StateFile) -> void
          raise Skep::Error, "no signal can be kept for its Ruby" if OS::SignalHandoff.refused?

          reader, writer = state_file["signals"].map { |number| state_file.take(number, IO) }
          @signals.restore(OS::SignalHandoff.kept(reader))
          [reader, writer].each(&:close)
        end

        # A no that isn't true would lose it.
        def signalled? #: () -> bool
          !OS::EventLoop::ReadyNow.again { |seconds| @signals.to_io.wait_readable(seconds) }.nil?
        end

        # Closes the loop with it.
        def lay_down #: () -> void
          @in_forks&.cancel
          @loop.close
          @program ? @signals&.release : @signals&.ignore # a late one is nobody's any more
        end

        # In a fork, which has none of it.
        def disown #: () -> void
          @in_forks.cancel
          @loop.close
          @signals.release
        end
      end

      # What each signal means to the supervisor (docs/signals.md).
      #
      #   signal_handler = SignalHandler.new(supervisor)
      #   signal_handler.obey("TERM")   # stop; a second one kills all nodes at once
      #
      # A repeat within 50 ms, or TERM soon after INT (as foreman sends it), is the same signal
      # (SelfPipe::RepeatedStop).
      class SignalHandler
        # CHLD isn't kept over an upgrade: it does no harm, Ruby may need it, and the new program
        # looks for itself. Nor is XFSZ, which is no order: it is only caught, so that a file at the
        # limit of its size (ulimit -f) is an error of write(2), EFBIG, and doesn't end the
        # supervisor. As it isn't ignored, molds and nodes have the default.
        SIGNALS = [*Rollout::Upgrade::StateFile::SIGNALS, "CHLD", "XFSZ"].freeze

        def initialize(supervisor) #: (Supervisor) -> void
          @supervisor = supervisor
          @repeated_stop = Runtime::SelfPipe::RepeatedStop.new
        end

        def obey(name) #: (String) -> void
          case name
          when "TERM", "INT" then stop(name)
          when "QUIT" then @supervisor.force(name)
          when "TSTP" then @supervisor.quiet
          when "TTIN" then @supervisor.backtraces
          when "USR1" then @supervisor.reopen
          when "USR2" then @supervisor.changes.restart
          when "HUP" then @supervisor.changes.reload
          when "CHLD" then @supervisor.reap
          end
        end

        private

        def stop(name)
          repeated_stop = @repeated_stop.of(name, OS.now)
          return if repeated_stop == :same

          # A stop that was asked for in another way (`skep stop`) counts as the first request. One
          # that the swarm began itself (all work done, a crash loop) doesn't.
          again = repeated_stop == :again || @supervisor.asked_to_stop?
          again ? @supervisor.force(name) : @supervisor.stop(name)
        end
      end
    end
  end
end
