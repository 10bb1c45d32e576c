# frozen_string_literal: true

# What a swarm looks like at this moment: all of `skep status --json`, as plain data
# (docs/reference/status.md), without secrets.
#
#   StatusReport.new(supervisor).to_h
module Skep
  class Swarm
    class Supervisor
      class StatusReport
        WORK_BYTES = 12 * 1024 * 1024 # of all nodes' facts together, as JSON
        private_constant :WORK_BYTES

        # Returns a report, the same without backtraces, and without anything that takes much room.
        # A helper gets the first that isn't too large for a message.
        def self.by_size(plain)
          [plain, with(plain) { |node| { last_hang: node[:last_hang]&.except(:threads) } },
           with(plain) { |node| { last_hang: nil, work: node[:work].slice("done") } }]
        end

        def self.with(plain)
          { **plain, nodes: plain[:nodes].map { |node| { **node, **yield(node) } } }
        end
        private_class_method :with

        def initialize(supervisor)
          @supervisor = supervisor
          @node_pool = supervisor.node_pool
        end

        def to_h
          plain = Redaction.of(facts)
          nodes = @node_pool ? shown.map { |slot| view(slot) } : []
          { **plain, nodes:, problems: problems(plain, nodes) }
        end

        # What health checks need. Its cost doesn't depend on what nodes report of their work.
        def condition
          works = @node_pool ? named_facts : []
          { "name" => @supervisor.config&.name, "state" => @supervisor.state.to_s, "works" => works,
            "nodes" => @node_pool ? shown.map { |slot| slot_condition(slot) } : [] }
        end

        # What charts show of the nodes; of their work only what nodes have added up themselves.
        def figures
          { "nodes" => @node_pool ? shown.map { |slot| slot_figures(slot) } : [] }
        end

        private

        def slot_figures(slot)
          node = slot.node
          memory = node&.node_memory&.to_plain(OS.now)
          work = node ? { "done" => @node_pool.scoreboard.done(node), **node.work } : {}
          { "id" => slot.id, "pid" => slot.pid, "memory" => memory,
            "work" => work.slice("done", "rate", "lag") }
        end

        def facts
          { name: @supervisor.config&.name, pid: Process.pid, state: @supervisor.state,
            skep: VERSION, ruby: RUBY_VERSION, revision: @node_pool&.revision,
            nodes_from: @supervisor.config&.nodes_from,
            crash_loop: @node_pool&.all&.any?(&:looping?) || false,
            quiet_for: ago(@supervisor.quiet_since),
            **@supervisor.changes.to_plain, over_budget: @node_pool&.memory_monitor&.over_budget,
            uptime: (OS.now - @supervisor.started_at).round(3),
            supervisor: process_figures, events: @supervisor.events.counts,
            recovery: @node_pool&.recovery_times&.to_plain,
            suspects: @node_pool ? suspects : [],
            works: @node_pool ? works : [], scale: @node_pool && scaling.to_h }
        end

        def named_facts
          config = @supervisor.config
          config.works.map do |work|
            { **config.tasks[work.number]["facts"], "name" => work.name }
          end
        end

        # What is wrong, by these facts (Diagnosis). An error of a plugin leaves the rest as it is.
        def problems(plain, nodes)
          works = plain[:works].map { |work| work.slice(:work, :name, "name", "kind", "group") }
          facts = as_json({ **plain.except(:works, :events, :recovery), works: })
          facts["nodes"] = nodes.map { |node| node_as_json(node) }
          found = more = []
          guard { more = Plugin.problems(facts) }
          guard { found = Diagnosis.of(facts, more) }
          found
        end

        def guard(&) = @supervisor.events.guard("diagnosis", harmless: true, &)

        # A node's facts of its work are JSON already, and may be large. What the status leaves out
        # of them is looked at all the same: its problems don't vanish.
        def node_as_json(node)
          work = whole[node[:id]]&.then { |slot| slot.node&.work }
          as_json(node.except(:work, :last_hang)).merge("work" => work || node[:work])
        end

        # The slots whose facts are left out, by their ids.
        def whole = @whole ||= left_out.to_h { |slot| [slot.id, slot] }

        def as_json(value)
          case value
          when Hash then value.to_h { |key, held| [key.to_s, as_json(held)] }
          when Array then value.map { |held| as_json(held) }
          when Symbol then value.to_s
          else value
          end
        end

        def ago(time) = time && (OS.now - time).round(3)

        def slot_condition(slot)
          ready = slot.node if slot.node&.ready?
          { "id" => slot.id, "task" => slot.task, "state" => slot.status.to_s,
            "crash_loop" => slot.looping?, "deaths" => slot.deaths.counts,
            "last_exit" => slot.last_exit&.to_plain,
            "unhealthy" => ready && liveness.unhealthy_reason(ready) }
        end

        # What it takes to supervise.
        def process_figures
          { memory: { rss: OS::Memory::Statm.of&.rss }, descriptors: descriptors,
            cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
        end

        def descriptors
          Dir.children("/proc/self/fd").size - 1 # without the one to look with
        rescue SystemCallError # none is left to look with, or there is no /proc
          nil
        end

        # What was in flight at crashes.
        def suspects
          @node_pool.crash_attribution.to_a.map do |suspect|
            { in_flight: suspect.to_s, crashes: suspect.crashes, alone: suspect.alone,
              ends: suspect.ends, seconds_ago: (OS.now - suspect.time).round(3) }
          end
        end

        # What each work is, and what all of its nodes have done, those that are gone too.
        def works
          totals, nodes = @node_pool.totals, @node_pool.node_table.nodes
          config = @supervisor.config
          config.works.zip(config.tasks).map do |work, task|
            index = work.number
            { work: index, name: work.name, nodes: nodes_of(work), options: work.own,
              **task["facts"].slice("kind", "group", "topics"),
              totals: totals.of(index, nodes), handler: totals.handler(index, nodes),
              by_topic: totals.by_topic(index, nodes) }
          end
        end

        def nodes_of(work) = @node_pool.slots.count { |slot| slot.task == work.number }
        def scaling = Rollout::ChangeCoordinator::Scaling.new(@node_pool, @supervisor.config)
        def liveness = @node_pool.liveness_monitor
        def shown = @node_pool.slots + @node_pool.spare_slots

        def view(slot)
          node = slot.node
          done = node ? @node_pool.scoreboard.done(node) : 0
          ready = node if node&.ready?
          plain = slot.to_plain(memory: slot.pid && @node_pool.memory_monitor.memory(node),
                                beat_age: ready && liveness.age(ready)&.round(3), done:,
                                unhealthy: ready && liveness.unhealthy_reason(ready))
          plain[:unhealthy_for] = ready && ago(liveness.unhealthy_since(ready))
          plain[:slow] = node ? slow(node) : []
          work, last_hang = %i[work last_hang].map { |key| plain.delete(key) }
          work = { "done" => done, "left_out" => slot.work_bytes } if left_out.include?(slot)
          { **Redaction.of(plain), last_hang:, work: redacted(work) } # HungNodeKiller redacts hangs
        end

        # Its threads that make no progress.
        def slow(node)
          liveness.slow(node).map do |status|
            { thread: status.thread, item: @node_pool.scoreboard.item(node, status.thread),
              seconds: ago(status.at), limit: node.options.liveness_timeout,
              at: node.line(status.thread, status.at) }
          end
        end

        # Nodes redact the rest before they report it (IPC::WorkFacts).
        def redacted(work)
          { **work, **Redaction.of(work.slice(*IPC::WorkFacts::SUMS)) }
        end

        # Whose facts there is no room for: the largest.
        def left_out
          @left_out ||= begin
            left = WORK_BYTES
            shown.sort_by(&:work_bytes).reject { |slot| (left -= slot.work_bytes) >= 0 }
          end
        end
      end
    end
  end
end
