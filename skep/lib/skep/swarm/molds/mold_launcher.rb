# frozen_string_literal: true

require "rbconfig"
require "skep/library_options"

# Starts mold processes: a fresh Ruby that loads the swarm's file, or a fork of the program that
# called `Swarm#run`.
#
#   Exec.new("swarm.rb").start(0, close_in_child:)   # => [pid, channel]: loads no code
#   Fork.new(swarm).start(0, close_in_child:)        # => [pid, channel]: a fork of this process
#
# Both put the mold into a process group of its own, so that a terminal's Ctrl-C reaches the
# supervisor alone.
module Skep
  class Swarm
    module Molds
      module MoldLauncher
        # Returns [pid, channel] of the process that the block starts with the other end. Where it
        # can't be started, both ends are closed.
        def self.connect(number)
          ours, theirs = IPC::Channel.pair
          pid = yield ours, theirs
          ours.post("load", { "mold" => number, "supervisor" => Process.pid })
          [pid, ours]
        rescue StandardError
          ours&.close
          raise
        ensure
          theirs&.close
        end

        class Exec
          attr_reader :file

          def initialize(file, arguments: [])
            @file = file
            @arguments = arguments
            @heap_size_hint = HeapSizeHint.new(file)
          end

          def program? = false

          # Executes a new mold. `close_in_child` is for the other launcher.
          def start(number, close_in_child: nil)
            OS::ProcessTree::ForkProbe.check
            MoldLauncher.connect(number) do |_ours, theirs|
              Process.spawn(@heap_size_hint.environment, *command, in: ::File::NULL, pgroup: true,
                            close_others: true, **Processes::MoldMain.descriptors(theirs))
            end
          end

          # A mold is warm: the next one can be given this before it boots.
          def warmed(slots:, reshare:)
            @heap_size_hint.remember(slots:, reshare:)
          end

          # A mold ended before it was ready.
          def failed = @heap_size_hint.forget

          # Returns why Ruby may not even have begun to load skep in it, as Bundler raises then; nil
          # if nothing is wrong. A deploy may delete the release that a swarm was started in.
          def obstacle
            return "the directory that the swarm was started in was deleted" unless directory?

            gemfile = ENV.fetch("BUNDLE_GEMFILE", "")
            "the Gemfile #{gemfile} was deleted" unless gemfile.empty? || ::File.exist?(gemfile)
          end

          private

          def directory?
            Dir.pwd
          rescue SystemCallError
            false
          end

          def command
            [RbConfig.ruby, *LibraryOptions.to_a, *@heap_size_hint.requires, "-rskep",
             "-e", "Skep::Swarm::Processes::MoldMain.main", "--", @file, *@arguments]
          end
        end

        class Fork
          def initialize(swarm)
            @swarm = swarm
          end

          def file = @swarm.name
          def program? = true

          # Forks a new mold. `close_in_child` closes in it what is the supervisor's alone.
          def start(number, close_in_child:)
            OS::ProcessTree::ForkProbe.check
            MoldLauncher.connect(number) do |ours, theirs|
              Runtime::SelfPipe.with_inherited_handlers do
                Process.fork { become(ours, theirs, close_in_child) }
              end
            end
          end

          # The program has booted already: there is nothing to remember for the next mold.
          def warmed(**) = nil
          def failed = nil
          def obstacle = nil

          private

          def become(ours, theirs, close_in_child)
            Process.setpgid(0, 0)
            close_in_child.call
            ours.close
            $stdin.reopen(::File::NULL)
            Processes::MoldMain.serve(IPC::Channel.new(theirs), swarm: @swarm)
          end
        end
      end
    end
  end
end
