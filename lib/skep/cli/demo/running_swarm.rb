# frozen_string_literal: true

require "rbconfig"

# A `skep run` of the demo's swarm file, followed by its log.
#
#   swarm = RunningSwarm.new(plan, brokers, folder)
#   swarm.log                       # IO, readable when there are events
#   swarm.events                    # => those that have come, as hashes
#   swarm.pidfd                     # readable at its end
#   swarm.stop; swarm.force
#   swarm.wait(5)                   # => its Process::Status
#   swarm.close
#
# It has a process group of its own, so that a terminal's Ctrl-C reaches the demo alone, which then
# stops it in order; and it is told to stop should the demo die.
module Skep
  module CLI
    class Demo
      class RunningSwarm
        LIBRARY = File.expand_path("../../..", __dir__)
        FILE = File.expand_path("swarm.rb", __dir__)
        PROGRAM = "require 'skep/cli'; Skep::OS::ProcessTree::Prctl.parent_death_signal = :TERM; " \
                  "exit Skep::CLI.start(ARGV)"
        SECONDS = 10.0 # to end in, before the next signal
        private_constant :LIBRARY, :FILE, :PROGRAM, :SECONDS

        attr_reader :log #: IO
        attr_reader :pidfd #: OS::Pidfd

        def initialize(plan, brokers, folder) #: (Plan, Brokers, Folder) -> void
          @errors = folder.path("stderr")
          @copy = File.open(folder.path("log"), "ab")
          @log, writer = IO.pipe
          pid = spawn(plan, environment(brokers, folder), writer)
          writer.close
          @pidfd = Skep.pidfd(pid)
          @rest = +""
        end

        # The events that have come since the last call. Lines that are none are in the folder's
        # log.
        def events #: () -> Array[Hash[String, untyped]]
          bytes = @log.read_nonblock(1_048_576, exception: false)
          return [] unless bytes.is_a?(String)

          @copy.syswrite(bytes)
          *lines, @rest = (@rest + bytes).split("\n", -1)
          lines.grep(/\A\{/).map { |line| JSON.parse(line) }
               .each { |event| @error = event["error"] || @error }
        end

        def stop = signal(:TERM) #: () -> void
        def force = signal(:QUIT) #: () -> void

        # Its end within so many seconds, or nil.
        def wait(seconds) = @pidfd.wait(timeout: seconds) #: (Numeric?) -> Process::Status?

        # What is wrong with it, in a line: its own sentence, how an error's report begins, or the
        # last error in its log.
        def complaint #: () -> String
          lines = File.readlines(@errors, chomp: true)
          said = lines.grep(/\Askep: /).last || lines.first || @error || "--keep keeps its log"
          said.delete_prefix("skep: ").delete_prefix("#{FILE}: ")
        end

        # Ends it if it still runs, ever less politely.
        def close #: () -> void
          [[:TERM, SECONDS], [:QUIT, SECONDS], [:KILL, nil]].each do |name, seconds|
            signal(name)
            break if wait(seconds)
          end
          [@pidfd, @log, @copy].each(&:close)
        end

        private

        def spawn(plan, environment, writer)
          Process.spawn(environment, RbConfig.ruby, "-I", LIBRARY, "-e", PROGRAM,
                        "run", FILE, "--nodes", plan.nodes.to_s, "--log-format", "json",
                        in: File::NULL, out: writer, err: [@errors, "a"], pgroup: true)
        end

        def environment(brokers, folder)
          { "SKEP_RUN_DIR" => folder.root, "SKEP_DEMO_LEDGERS" => folder.ledgers,
            "SKEP_DEMO_TOPIC" => brokers.topic,
            "SKEP_DEMO_KAFKA" => JSON.generate(brokers.settings) }
        end

        def signal(name)
          @pidfd.signal(name)
        rescue Errno::ESRCH # it has ended already
          nil
        end
      end
      private_constant :RunningSwarm
    end
  end
end
