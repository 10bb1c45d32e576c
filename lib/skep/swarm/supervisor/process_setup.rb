# frozen_string_literal: true

# What a process takes on to be a supervisor, and lays down afterwards: signals are orders to it,
# what its descendants leave behind falls to it, and a fork of it is none.
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
    end
  end
end
