# frozen_string_literal: true

require "json"
require "rbconfig"

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
          LIBRARY = ::File.expand_path("../../..", __dir__)
          private_constant :LIBRARY

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
            [RbConfig.ruby, "-I", LIBRARY, *@heap_size_hint.requires, "-rskep",
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

      # Remembers how large the heap of a swarm file's mold was, so that the next mold gets it
      # before it boots.
      #
      #   heap = HeapSizeHint.new("swarm.rb")
      #   heap.remember(slots: 4_000_000, reshare: false)
      #   heap.environment     # => {"RUBY_GC_HEAP_INIT_SLOTS" => "4400000", …}, or {}
      #   heap.requires        # => ["-rskep/reshare"], or []
      #   heap.forget          # a mold with this hint didn't boot
      #
      # Only Ruby 3.1 profits: it places the records of heap pages that it makes at once side by
      # side, so that a child's first full collection copies a few pages in place of thousands.
      # Later Rubies make them one by one, and get no hint; nor do swarms whose user sets
      # RUBY_GC_HEAP_INIT_SLOTS. With `reshare`, skep/reshare places them itself.
      # The hint is a file in the run directory. It is read only if this user has written it.
      class HeapSizeHint
        SLOTS = Processes::MoldMain::HEAP_SLOTS
        GIVEN = Processes::MoldMain::HEAP_SLOTS_GIVEN
        HELPS = RUBY_VERSION < "3.2"
        WORTH = 200_000..1_000_000_000 # slots: with fewer a collection has little to copy
        ROOM = 1.1 # boot makes objects that it drops again
        private_constant :SLOTS, :GIVEN, :HELPS, :WORTH, :ROOM

        def initialize(file, directory: Definition::RunDirectory.path, env: ENV)
          @file = File.expand_path(file)
          @path = File.join(directory, "heap-#{key}.json")
          @env = env
        end

        # A heap that no hint would help isn't remembered.
        def remember(slots:, reshare:)
          return forget unless reshare || WORTH.cover?(slots)

          facts = { "file" => name, "ruby" => RUBY_VERSION, "slots" => slots, "reshare" => reshare }
          return if facts == read

          Definition::RunDirectory.new(File.dirname(@path)).use
          replace(JSON.generate(facts))
        rescue SystemCallError, Definition::RunDirectory::PathUnusable # the next one boots without
          nil
        end

        # The hint may have been too large, if there is less memory now.
        def forget
          File.delete(@path)
        rescue SystemCallError # there is none, or it isn't ours
          nil
        end

        def environment
          slots, reshare = read.values_at("slots", "reshare")
          return {} if reshare || !HELPS || @env.key?(SLOTS)
          return {} unless slots.is_a?(Integer) && WORTH.cover?(slots)

          { SLOTS => (slots * ROOM).ceil.to_s, GIVEN => "1" }
        end

        def requires = read["reshare"] == true ? ["-rskep/reshare"] : []

        private

        # The path in few characters: FNV-1a of 64 bits. The file has the path itself.
        def key
          @file.each_byte.reduce(0xcbf29ce484222325) do |hash, byte|
            ((hash ^ byte) * 0x100000001b3) & (2**64 - 1)
          end.to_s(36)
        end

        # The path as text, whatever encoding the locale gives it.
        def name = @file.dup.force_encoding(Encoding::UTF_8).scrub

        # Makes a new file, and never writes to an existing one.
        def replace(text)
          beside = "#{@path}.#{Process.pid}"
          File.delete(beside) if File.exist?(beside) || File.symlink?(beside)
          flags = File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW
          File.open(beside, flags, 0o600) { |file| file.write(text) }
          File.rename(beside, @path)
        end

        # Returns {} if the hint is of another swarm file, Ruby or user.
        def read
          text = File.open(@path, File::RDONLY | File::NOFOLLOW | File::NONBLOCK) do |file|
            return {} unless file.stat.file? && file.stat.owned?

            file.binmode.read
          end
          facts = JSON.parse(text)
          ours = facts.is_a?(Hash) && facts.values_at("file", "ruby") == [name, RUBY_VERSION]
          ours ? facts : {}
        rescue SystemCallError, JSON::ParserError # gone meanwhile, or cut short
          {}
        end
      end
    end
  end
end
