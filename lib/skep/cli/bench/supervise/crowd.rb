# frozen_string_literal: true

# What so many nodes cost skep's supervisor: to start, to tell of, to keep, and to replace one of.
#
#   Crowd.new(kept, kills: 20).figures
#   # => {"ms of CPU" => 0.4, "ms to the replacement" => 3.1, "start s" => 0.2, …}
#
# An event is the kill -9 of one node, up to its replacement's readiness: the CPU that the
# supervisor takes for it. Each waits until the last is over, so that none is part of the next.
module Skep
  module CLI
    class Bench
      class Supervise
        class Crowd
          START = 600.0 # seconds
          PATIENCE = 30.0
          PAUSE = 0.05
          MEBIBYTE = (1 << 20).to_f
          private_constant :START, :PATIENCE, :PAUSE, :MEBIBYTE

          def initialize(kept, kills:) #: (Keeping, kills: Integer) -> void
            @kept = kept
            @kills = kills
          end

          def figures #: () -> Hash[String, Float]
            started = seconds { @pids = @kept.await(nodes, seconds: START).map(&:pid) }
            @kept.rest
            kept = Array.new(@kills) { kill }.transpose.map { |each| Statistics.median(each) }
            { "ms of CPU" => kept.first * 1000, "the mold's" => kept[1] * 1000,
              "ms to the replacement" => kept.last * 1000, "start s" => started,
              "USS MiB" => OS::Memory.of(@kept.pid).uss / MEBIBYTE,
              "status ms" => seconds { status } * 1000 }
          end

          private

          def nodes = @kept.wishes[:workers]

          def kill
            before = cpu
            began = OS.now
            @kept.signal(@pids.shift, :KILL)
            come = @kept.arrival(PATIENCE) or raise Contender::Never, "a node was not replaced"
            @pids << come.pid
            @kept.settle(PAUSE)
            [*cpu.zip(before).map { |later, earlier| later - earlier }, come.at - began]
          end

          def cpu
            @mold ||= Kin.children(@kept.pid).find { |pid| Kin.children(pid).any? }
            [Kin.cpu(@kept.pid), Kin.cpu(@mold)]
          end

          def status
            told = Watch::Query.new("#{@kept.folder}/bench.sock").ask("status")["status"]["nodes"]
            raise Program::Failed, "the status tells of #{told.size}" unless told.size == nodes
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
end
