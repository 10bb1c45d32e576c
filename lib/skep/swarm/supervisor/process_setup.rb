# frozen_string_literal: true

# Makes this process a supervisor, and undoes that at the end: it handles signals (SignalHandler),
# and is a subreaper that ends and reaps what its nodes leave behind (OrphanReaper). A fork of it
# inherits none of that.
#
#   setup = ProcessSetup.new(supervisor, program: false, ours: -> { pids }, forked: -> { … })
#   setup.take
#   setup.orphan_reaper.reap
#   setup.release         # a program that has run a swarm has its own signal handlers again
module Skep
  class Swarm
    class Supervisor
      class ProcessSetup
        attr_reader :orphan_reaper

        # program: the process runs an application's program; ours: returns the pids of the molds
        # and nodes; forked: is called in whatever else the program forks.
        def initialize(supervisor, program:, ours:, forked:)
          @loop = supervisor.loop
          @program = program
          @forked = forked
          @signal_handler = SignalHandler.new(supervisor)
          @orphan_reaper = OrphanReaper.new(program:, ours:)
        end

        def take
          OS::ProcessTree::Prctl.subreaper!
          @signals = Runtime::SelfPipe.new(SignalHandler::SIGNALS)
          @loop.watch(@signals.to_io) { @signal_handler.handle_all(@signals.take_with_times) }
          @in_forks = Skep.on_fork(child: -> { @forked.call unless Runtime::SelfPipe.handing_on? })
        end

        # Closes the loop, too.
        def release
          @in_forks&.cancel
          @loop.close
          @program ? @signals&.release : @signals&.ignore # one that comes now has no effect
        end

        # Called in a fork of the supervisor.
        def close_in_child
          @in_forks.cancel
          @loop.close
          @signals.release
        end
      end
    end
  end
end
