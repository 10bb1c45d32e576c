# frozen_string_literal: true

require "rbconfig"

# `skep run` of the demo's swarm file, and its log.
#
#   swarm = SwarmProcess.new(topic, folder, nodes: 4)
#   swarm.log                       # an IO, readable when there are events
#   swarm.events                    # new events, as hashes
#   swarm.stop; swarm.force
#   swarm.status                    # its Process::Status once it has ended
#   swarm.error                     # the reason of its failure, in a line
#
# It has a separate process group: a terminal's Ctrl-C reaches the demo only, which stops it
# gracefully. It also stops if the demo dies.
module Skep
  module Demo
    class SwarmProcess
      LOAD_PATH = File.expand_path("../../load_path", __dir__)
      FILE = File.expand_path("swarm.rb", __dir__)
      PROGRAM = "require 'skep/cli'; Skep::OS::ProcessTree::Prctl.parent_death_signal = :TERM; " \
                "exit Skep::CLI.start(ARGV)"
      SECONDS = 10.0 # to end in, before the next signal
      private_constant :LOAD_PATH, :FILE, :PROGRAM, :SECONDS

      attr_reader :log, :pidfd

      def initialize(topic, folder, nodes:)
        @errors = "#{folder}/stderr"
        @copy = File.open("#{folder}/log", "ab")
        @log, writer = IO.pipe
        @rest = +""
        environment = { "SKEP_RUN_DIR" => folder, "SKEP_DEMO_LEDGERS" => folder,
                        "SKEP_DEMO_TOPIC" => topic.name,
                        "SKEP_DEMO_KAFKA" => JSON.generate(topic.settings) }
        pid = Process.spawn(environment, RbConfig.ruby, "-r", LOAD_PATH, "-e", PROGRAM, "run", FILE,
                            "--nodes", nodes.to_s, "--log-format", "json",
                            in: File::NULL, out: writer, err: [@errors, "a"], pgroup: true)
        writer.close
        @pidfd = Skep.pidfd(pid)
      end

      def events
        bytes = @log.read_nonblock(1_048_576, exception: false)
        return [] unless bytes.is_a?(String)

        @copy.syswrite(bytes)
        *lines, @rest = (@rest + bytes).split("\n", -1)
        lines.grep(/\A\{/).map { |line| JSON.parse(line) }
             .each { |event| @error = event["error"] || @error }
      end

      def status = @pidfd.wait(timeout: 0)
      def stop = signal(:TERM)
      def force = signal(:QUIT)

      # Its own sentence, else the beginning of an error's report, else the last error of its log.
      def error
        lines = File.readlines(@errors, chomp: true)
        line = lines.grep(/\Askep: /).last || lines.first || @error || "see its log by --keep"
        line.delete_prefix("skep: ").delete_prefix("#{FILE}: ")
      end

      # Ends it if it still runs.
      def close
        [[:TERM, SECONDS], [:QUIT, SECONDS], [:KILL, nil]].each do |name, seconds|
          signal(name)
          break if @pidfd.wait(timeout: seconds)
        end
        [@pidfd, @log, @copy].each(&:close)
      end

      private

      def signal(name)
        @pidfd.signal(name)
      rescue Errno::ESRCH # it has ended already
        nil
      end
    end
  end
end
