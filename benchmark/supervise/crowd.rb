# frozen_string_literal: true

# The cost of many nodes for skep's supervisor: start, status, supervision, and one replacement.
#
#   Crowd.new(run, kills: 20).figures
#   # => {"ms of CPU" => 0.4, "ms to the replacement" => 3.1, "start s" => 0.2, …}
#
# "ms of CPU" is the supervisor's CPU time from the kill -9 of one node until its replacement is
# ready. Each kill waits until the last replacement is ready.
module Skep
  module Benchmarks
    class Supervise
      class Crowd
        START = 600.0 # seconds
        PATIENCE = 30.0
        PAUSE = 0.05
        MEBIBYTE = (1 << 20).to_f
        private_constant :START, :PATIENCE, :PAUSE, :MEBIBYTE

        def initialize(run, kills:)
          @run = run
          @kills = kills
        end

        def figures
          started = seconds { @pids = @run.await(nodes, seconds: START).map(&:pid) }
          @run.rest
          run = Array.new(@kills) { kill }.transpose.map { |each| Statistics.median(each) }
          { "ms of CPU" => run.first * 1000, "the mold's" => run[1] * 1000,
            "ms to the replacement" => run.last * 1000, "start s" => started,
            "USS MiB" => OS::Memory.of(@run.pid).uss / MEBIBYTE,
            "status ms" => seconds { status } * 1000 }
        end

        private

        def nodes = @run.wishes[:workers]

        def kill
          before = cpu
          began = OS.now
          @run.signal(@pids.shift, :KILL)
          come = @run.arrival(PATIENCE) or raise Subject::Never, "a node was not replaced"
          @pids << come.pid
          @run.settle(PAUSE)
          [*cpu.zip(before).map { |later, earlier| later - earlier }, come.at - began]
        end

        def cpu
          @mold ||= ProcessTree.children(@run.pid).find { |pid| ProcessTree.children(pid).any? }
          [ProcessTree.cpu(@run.pid), ProcessTree.cpu(@mold)]
        end

        def status
          client = Control::Client.new("#{@run.folder}/bench.sock")
          size = client.call("status")["status"]["nodes"].size
          raise Program::Failed, "the status has #{size} nodes" unless size == nodes
        end

        def seconds
          began = OS.now
          yield
          OS.now - began
        end
      end
    end
  end
end
