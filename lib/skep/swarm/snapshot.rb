# frozen_string_literal: true

# What a swarm looks like at this moment: all of `skep status --json`, as plain data
# (docs/status.md).
#
#   Snapshot.new(supervisor).to_h
module Skep
  class Swarm
    class Snapshot
      WORK_BYTES = 12 * 1024 * 1024 # of all nodes' facts together, as JSON
      private_constant :WORK_BYTES

      # Without what takes much room: what a helper gets where the whole is too large for a message.
      def self.short(plain) #: (Hash[Symbol, untyped]) -> Hash[Symbol, untyped]
        nodes = plain[:nodes].map do |node|
          { **node, last_hang: nil, work: node[:work].slice("done") }
        end
        { **plain, nodes: }
      end

      def initialize(supervisor) #: (Supervisor) -> void
        @supervisor = supervisor
        @manager = supervisor.manager
      end

      def to_h #: () -> Hash[Symbol, untyped]
        { name: @supervisor.config&.name, pid: Process.pid, state: @supervisor.state,
          skep: VERSION, ruby: RUBY_VERSION,
          crash_loop: @manager&.seats&.any?(&:looping?) || false,
          uptime: (OS.now - @supervisor.started_at).round(3),
          supervisor: vitals, events: @supervisor.tally.counts,
          recovery: @manager&.registrar&.recoveries&.to_plain,
          suspects: @manager ? suspects : [],
          works: @manager ? works : [],
          nodes: @manager ? shown.map { |seat| view(seat) } : [] }
      end

      private

      # What it takes to supervise.
      def vitals
        { memory: { rss: OS::Resident.of&.rss }, descriptors: descriptors,
          cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
      end

      def descriptors
        Dir.children("/proc/self/fd").size - 1 # without the one to look with
      rescue SystemCallError # none is left to look with, or there is no /proc
        nil
      end

      # What was in hand at crashes.
      def suspects
        @manager.registrar.suspicions.to_a.map do |suspect|
          { in_hand: suspect.to_s, crashes: suspect.crashes, alone: suspect.alone,
            ends: suspect.ends, seconds_ago: (OS.now - suspect.time).round(3) }
        end
      end

      # What each kind of work is, and what all of its nodes have done, those that are gone too.
      def works
        @supervisor.config.tasks.each_with_index.map do |task, index|
          { work: index, **task["facts"].slice("kind", "group", "topics"),
            totals: @manager.totals.of(index, @manager.roster.nodes),
            handler: @manager.totals.handler(index, @manager.roster.nodes) }
        end
      end

      def shown = @manager.seats + @manager.spares.reserves

      def view(seat)
        node = seat.node
        done = @manager.done_count(node)
        plain = seat.to_plain(memory: seat.pid && @manager.upkeep.memory(node),
                              beat_age: @manager.beat_age(node)&.round(3), done:,
                              unhealthy: @manager.ailment(node))
        return plain unless left_out.include?(seat)

        { **plain, work: { "done" => done, "left_out" => seat.work_bytes } }
      end

      # Whose facts there is no room for: the largest.
      def left_out
        @left_out ||= begin
          left = WORK_BYTES
          shown.sort_by(&:work_bytes).reject { |seat| (left -= seat.work_bytes) >= 0 }
        end
      end
    end
  end
end
