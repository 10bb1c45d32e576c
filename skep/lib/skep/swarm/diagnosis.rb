# frozen_string_literal: true

# What is wrong with a swarm at this moment, from the facts of its status. A pure function: a
# problem is there as long as its facts are, and no event is remembered.
#
#   Diagnosis.of(status)      # => [problem, …], the most urgent first
#   Diagnosis.kinds           # => every kind that there is, those of loaded plugins too
#   Diagnosis.by_node(status) # => {3 => problem}, the most urgent one of each node that has one
#   Diagnosis.problem("hung", "critical", subject: "node 3", text:, since: 2.0, doing:, advice:)
#
# status: as in `skep status --json`. A problem is a Hash as in docs/reference/status.md#problems.
#
# | level | meaning |
# |---|---|
# | critical | work stands still, and skep alone can't mend it, or not for now |
# | warning | something fails; skep works on it, or the operator should know before it gets worse |
# | info | what an operator has asked for, and that passes or can be taken back |
#
# What an ordinary restart, a rebalance or the replacement of a crashed node shows for a moment is
# no problem: a slot without a process counts after DOWN seconds.
module Skep
  class Swarm
    module Diagnosis
      LEVELS = %w[critical warning info].freeze
      KINDS = %w[no_node_ready crash_loop hung no_progress unhealthy unfit over_memory waiting ended
                 suspect rollout_failed rollout quiet].freeze
      DOWN = 2.0 # seconds
      MOST = 200 # problems of a status
      REPLACED = 10.0 # seconds after a single crash
      OVER = %w[memory_limit memory_budget].freeze # reasons of a replacement
      ENDING = %w[stopping stopped].freeze # states of a swarm
      private_constant :LEVELS, :DOWN, :MOST, :REPLACED, :OVER, :ENDING

      class << self
        # problems: those of plugins.
        def of(status, problems = Plugin.problems(status))
          return [] if ENDING.include?(status["state"])

          nodes = status["nodes"].to_a
          found = [*works_without_node(status, nodes), *nodes.flat_map { |node| of_node(node) },
                   *helper(status, nodes), *budget(status), *suspects(status), *changes(status),
                   *quiet(status), *problems]
          sorted(found).first(MOST)
        end

        def kinds = [*KINDS, *Plugin.loaded.values.flat_map(&:problem_kinds)]

        # Of a status' problems, without what an operator has asked for. A problem of several nodes
        # names one of them.
        def by_node(status)
          of_nodes = status["problems"].to_a.select { |one| one["node"] }
          wrong = of_nodes.reject { |one| one["level"] == "info" }
          wrong.group_by { |one| one["node"] }.transform_values(&:first)
        end

        # since: for how many seconds; nil: not known. at: "file:line".
        def problem(kind, level, subject:, text:, since:, doing:, advice:, node: nil, work: nil,
                    at: nil)
          { "kind" => kind, "level" => level, "subject" => subject, "text" => text,
            "since" => since && [since, 0.0].max.round(1), "node" => node, "work" => work,
            "at" => at, "doing" => doing, "advice" => advice }
        end

        # The name of a node's work, for people; nil: it isn't known.
        def work_name(status, node)
          work = status["works"].to_a[node["task"]] if node["task"].is_a?(Integer)
          node["work_name"] || work.to_h.values_at("name", "group").compact.first
        end

        private

        # (The oldest of a level and kind first.)
        def sorted(found)
          found.each_with_index.sort_by do |problem, index|
            [LEVELS.index(problem["level"]), KINDS.index(problem["kind"]) || KINDS.size,
             -problem["since"].to_f, index]
          end.map(&:first)
        end

        def works_without_node(status, nodes)
          works = nodes.select { |node| node["task"] }.group_by { |node| node["task"] }
          works.each_value.filter_map do |all|
            next unless all.all? { |node| node["down_for"] }

            name = work_name(status, all.first)
            booted = all.any? { |node| node["last_exit"] }
            since = all.map { |node| node["down_for"] }.min
            next if booted && since < DOWN

            no_node(name, all, since, booted)
          end
        end

        def no_node(name, nodes, since, booted)
          text = booted ? "none of its nodes is ready" : "no node has been ready yet"
          problem("no_node_ready", booted ? "critical" : "warning",
                  subject: ["work", *name].join(" "), text:, since:, work: name,
                  doing: "skep starts its nodes; boot_timeout ends one that never gets ready",
                  advice: "See how its nodes ended, and what on_boot waits for")
        end

        def of_node(node)
          hung = ending(node)
          [crash_loop(node) || waiting(node) || ended(node), hung || unhealthy(node),
           *(slow(node) unless hung), unfit(node), over_memory(node)].compact
        end

        def node_problem(kind, level, node, **facts)
          id = node["id"]
          problem(kind, level, subject: id.is_a?(Integer) ? "node #{id}" : id.to_s, node: id,
                               work: node["work_name"], **facts)
        end

        def crash_loop(node)
          return unless node["crash_loop"]

          working = %w[ready quiet].include?(node["state"])
          deaths = node["deaths"].to_h.values.sum
          text = "it keeps crashing: #{deaths} deaths since the swarm began, the last by " \
                 "#{exit_of(node)}#{why(node)}"
          node_problem("crash_loop", working ? "warning" : "critical", node, text:,
                       since: node["looping_for"], at: node.dig("failure", "at"),
                       doing: working ? "its next process works, and has to prove itself for " \
                                        "restart_window" : starting(node),
                       advice: "Fix the cause, then skep reload; skep restart starts it at once")
        end

        # Without a process for a while, and not because it crashes again and again.
        def waiting(node)
          return unless node["state"] == "waiting" && node["down_for"].to_f >= DOWN

          node_problem("waiting", "warning", node, since: node["down_for"],
                       text: "it has no process#{why(node)}", at: node.dig("failure", "at"),
                       doing: starting(node),
                       advice: "See #{node["last_exit"] ? "how its last process ended " \
                               "(#{exit_of(node)})" : "fork_failed in the log"}")
        end

        # Its policy starts it no more.
        def ended(node)
          last = node["last_exit"] or return
          return unless node["state"] == "dead" && (last["signal"] || last["exit_status"] != 0)

          node_problem("ended", "warning", node, since: last["seconds_ago"],
                       text: "it has ended by #{exit_of(node)}#{why(node)}",
                       at: node.dig("failure", "at"),
                       doing: "skep doesn't start it again: restart or never_restart_on says so",
                       advice: "Stop the swarm and start it again, or change these options")
        end

        def starting(node)
          seconds = node["retry_in"]
          seconds ? "skep starts it again in #{seconds.ceil} s" : "skep starts it again"
        end

        def exit_of(node)
          last = node["last_exit"].to_h
          how = "exit status #{last["exit_status"] || "?"}"
          how = "SIG#{last["signal"]}" if last["signal"]
          [how, *last["reason"]].join(", ")
        end

        def why(node)
          error = node.dig("failure", "error")
          error ? ": #{error}" : ""
        end

        # It is being ended because it hangs.
        def ending(node)
          return unless node["ending"] == "hung"

          slow = node["slow"].to_a.max_by { |one| one["seconds"].to_f }.to_h
          text = "#{without_progress(slow)}: it hangs, and is being replaced" if slow.any?
          node_problem("hung", "critical", node, since: slow["seconds"] || node["beat_age"],
                       text: text || "it hangs, and is being replaced", at: slow["at"],
                       doing: "skep sends it TERM, then KILL after kill_timeout",
                       advice: "See the backtraces in last_hang, or in the event node_hung")
        end

        def slow(node)
          node["slow"].to_a.map do |one|
            node_problem("no_progress", "warning", node, text: without_progress(one),
                         since: one["seconds"], at: one["at"],
                         doing: patience(node, one["limit"].to_f.round(1)),
                         advice: "Look at that line; work that is only slow needs node.beat or " \
                                 "node.busy(for:)")
          end
        end

        def without_progress(slow)
          item = slow["item"]
          what = item ? "its handler has made no progress with #{item}" :
                        "its work has made no progress"
          "#{what} (thread #{slow["thread"]})"
        end

        def patience(node, seconds)
          stopping = node["state"] == "stopping"
          return "the node is to stop: skep kills it once stop_timeout is over" if stopping

          "skep replaces the node after #{seconds} s without progress (liveness_timeout)"
        end

        # Once it is ending, it no longer says why.
        def unhealthy(node)
          ending = node["ending"] == "unhealthy"
          return unless node["unhealthy"] || ending

          node_problem("unhealthy", "warning", node, since: node["unhealthy_for"],
                       text: ["it says that it can't work", *node["unhealthy"]].join(": "),
                       doing: ending ? "skep replaces it" : "skep replaces it at the third " \
                                       "report, or if that lasts for liveness_timeout",
                       advice: "Mend what it names; a new process helps only if the process is ill")
        end

        def unfit(node)
          facts = node["unfit"] or return
          unsure = facts["why"] == "another_process"
          text = unsure ? "only another process can show why it fails" :
                          "it fails with what other nodes can do"
          node_problem("unfit", "warning", node, since: facts["seconds_ago"],
                       text: [text, *facts["error"]].join(": "),
                       doing: "skep replaces its process, and no message becomes a dead letter " \
                              "for it",
                       advice: "If new processes fail, too, look for state that they begin with")
        end

        def over_memory(node)
          reason = node["replacing"]
          return unless OVER.include?(reason)

          uss = node.dig("memory", "uss")
          mebibytes = ", at #{uss / 1_048_576} MiB of its own" if uss
          node_problem("over_memory", "warning", node, since: nil,
                       text: "it exceeds #{reason}#{mebibytes}",
                       doing: "skep replaces it once its successor is ready; far above the " \
                              "limit, at once",
                       advice: "Find what grows, or raise #{reason}")
        end

        # It is shown nowhere else.
        def helper(status, nodes)
          return [] if !status["crash_loop"] || nodes.any? { |node| node["crash_loop"] }

          [problem("crash_loop", "warning", subject: "helper", since: nil,
                   text: "the process that runs swarm.on blocks and metrics keeps crashing",
                   doing: "skep starts it again, later each time; the work goes on",
                   advice: "See its events node_died in the log")]
        end

        def budget(status)
          over = status["over_budget"] or return []
          used, budget = over.values_at("bytes", "budget").map { |bytes| bytes / 1_048_576 }
          [problem("over_memory", "warning", subject: "swarm", since: nil,
                   text: "it takes #{used} MiB of its memory_budget of #{budget} MiB",
                   doing: "skep replaces the node that frees most, if one does",
                   advice: "Raise memory_budget, or run fewer nodes")]
        end

        # After a single crash, most items are done as soon as the node has been replaced.
        def suspects(status)
          suspects = status["suspects"].to_a.reject do |one|
            one["crashes"] == 1 && one["alone"].zero? && one["seconds_ago"] < REPLACED
          end
          suspects.map do |one|
            problem("suspect", "warning", subject: one["in_flight"].to_s, since: one["seconds_ago"],
                    text: "crashes while it was in flight: #{one["crashes"]}, alone: " \
                          "#{one["alone"]} (#{one["ends"].to_a.join("; ")})",
                    doing: "its work tries it alone, if it can, until it is done or shown to be " \
                           "the cause; skep forgets what isn't tried again",
                    advice: "If it is the cause, correct its handler, then skep reload")
          end
        end

        def changes(status) = [rollout_failed(status), rollout(status)].compact

        def rollout_failed(status)
          failed = status["failed_change"] or return
          name = failed["name"]
          problem("rollout_failed", "warning", subject: name, since: failed["seconds_ago"],
                  text: "the last #{name} failed: #{failed["error"]}",
                  doing: name == "reload" ? "nodes that weren't replaced run the code from before" :
                                            "nodes that weren't replaced keep their processes",
                  advice: failed["hint"]&.then { |hint| "#{hint[0].upcase}#{hint[1..]}" } ||
                          "Correct the cause, then run skep #{name} again")
        end

        def rollout(status)
          change = status["change"] or return
          waiting = "; a #{change["next"]} waits for its end" if change["next"]
          problem("rollout", "info", subject: change["name"], since: change["seconds"],
                  text: "a #{change["name"]} is under way (#{change["state"]})#{waiting}",
                  doing: "skep replaces one node after the other, each once its successor is ready",
                  advice: "Wait for its end; a node that stops slowly takes up to stop_timeout")
        end

        def quiet(status)
          return [] unless status["state"] == "quiet"

          [problem("quiet", "info", subject: "swarm", since: status["quiet_for"],
                   text: "its nodes take nothing new, as was asked for",
                   doing: "skep keeps its nodes, and starts no new work",
                   advice: "skep resume ends it")]
        end
      end
    end
  end
end
