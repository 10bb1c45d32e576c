# frozen_string_literal: true

require "rbconfig"

# Starts mold processes: a fresh Ruby that loads the swarm's file, or a fork of the program that
# called `Swarm#run`.
#
#   Exec.new("swarm.rb").start(0, disown:)   # => [pid, channel]: the supervisor loads no user code
#   Fork.new(swarm).start(0, disown:)        # => [pid, channel]: a fork of this very process
#
# Both put the mold into a process group of its own, so that a terminal's Ctrl-C reaches the
# supervisor alone.
module Skep
  class Swarm
    module Molds
      module MoldLauncher
        class Exec
          LIBRARY = ::File.expand_path("../../..", __dir__)
          private_constant :LIBRARY

          attr_reader :file #: String

          def initialize(file, arguments: []) #: (String, ?arguments: Array[String]) -> void
            @file = file
            @arguments = arguments
            @heap_size_hint = HeapSizeHint.new(file)
          end

          def program? = false #: () -> bool

          # Executes a new mold. `disown` is for the other launcher.
          def start(number, disown: nil) #: (Integer, ?disown: untyped) -> [Integer, IPC::Channel]
            OS::ProcessTree::ForkProbe.check
            ours, theirs = IPC::Channel.pair
            pid = Process.spawn(@heap_size_hint.environment, *command, in: ::File::NULL,
                                pgroup: true, close_others: true,
                                **InMold::MoldMain.descriptors(theirs))
            theirs.close
            ours.post("load", { "mold" => number, "supervisor" => Process.pid })
            [pid, ours]
          end

          # A mold is warm: the next one can be given this before it boots.
          #: (**untyped) -> void
          def warmed(slots:, reshare:)
            @heap_size_hint.remember(slots:, reshare:)
          end

          # A mold ended before it was ready.
          def failed = @heap_size_hint.forget #: () -> void

          private

          def command
            [RbConfig.ruby, "-I", LIBRARY, *@heap_size_hint.requires, "-rskep",
             "-e", "Skep::Swarm::InMold::MoldMain.main", "--", @file, *@arguments]
          end
        end

        class Fork
          def initialize(swarm) #: (Swarm) -> void
            @swarm = swarm
          end

          def file = @swarm.name #: () -> String
          def program? = true #: () -> bool

          # Forks a new mold. `disown` closes in it what is the supervisor's alone.
          def start(number, disown:) #: (Integer, disown: Proc) -> [Integer, IPC::Channel]
            OS::ProcessTree::ForkProbe.check
            ours, theirs = IPC::Channel.pair
            pid = Runtime::SelfPipe.with_inherited_handlers { Process.fork { become(ours, theirs, disown) } }
            theirs.close
            ours.post("load", { "mold" => number, "supervisor" => Process.pid })
            [pid, ours]
          end

          # The program has booted already: there is nothing to remember for the next mold.
          def warmed(**) = nil #: (**untyped) -> void
          def failed = nil #: () -> void

          private

          def become(ours, theirs, disown)
            Process.setpgid(0, 0)
            disown.call
            ours.close
            $stdin.reopen(::File::NULL)
            InMold::MoldMain.serve(IPC::Channel.new(theirs), swarm: @swarm)
          end
        end
      end
    end
  end
end
