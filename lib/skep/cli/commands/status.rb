# frozen_string_literal: true

require "json"
require "skep/cli/swarm_command"
require "skep/cli/swarm_list"
require "skep/kafka/group_status"

# `skep status [NAME]`: the state of a running swarm as a table or as one line of JSON. With
# --partitions also each Kafka partition that its nodes read. Without a name it lists all swarms if
# several run.
module Skep
  module CLI
    module Commands
      class Status < SwarmCommand
        SUMMARY = "Show the nodes of a running swarm"
        USAGE = "skep status [NAME] [--partitions] [--json] [--exit-status]"
        EXAMPLES = ["skep status", "skep status billing --json",
                    "skep status billing --partitions",
                    "skep status billing --exit-status > /dev/null"].freeze
        COLUMNS = %w[node pid mold state assigned restarts uss shared beat done last\ exit].freeze
        PARTITION = ["topic", "partition", "node", "position", "lag", "rate", "p50", "p99",
                     "messages", "retries", "dead letters", "skipped", "rebalances",
                     "failing"].freeze
        SUSPECTS = 5
        FAILING = 10 # lines of a group
        LIST_TIMEOUT = 2.0 # seconds
        STATE = COLUMNS.index("state")
        NODES_FROM = { "option" => "the option", "affinity" => "the CPU affinity",
                       "cpu_quota" => "the CPU quota" }.freeze
        ROWS = "rows: since their node's start"
        private_constant :COLUMNS, :PARTITION, :SUSPECTS, :FAILING, :LIST_TIMEOUT, :STATE,
                         :NODES_FROM, :ROWS

        private

        def declare(parser)
          super
          parser.on("--json", "one line of JSON") { options[:json] = true }
          parser.on("--partitions", "also each Kafka partition") { options[:partitions] = true }
          parser.on("--exit-status", "exit with 1 in a crash loop, or if no node is ready") do
            options[:exit_status] = true
          end
        end

        def perform
          return list(running) if !named? && running.size > 1

          path = control_path
          reject_extra_arguments!
          status = Control::Client.new(path).status
          options[:json] ? out.puts(json(status)) : table(status)
          exit_code([status])
        end

        def list(paths)
          statuses = paths.map { |path| [name_of(path), status_soon(path)] }
          lines = statuses.filter_map { |_, status| json(status) if status }
          out.puts(options[:json] ? lines : SwarmList.new(statuses, ansi))
          exit_code(statuses.map(&:last))
        end

        # nil is the status of a swarm that doesn't answer.
        def exit_code(statuses)
          return 0 unless options[:exit_status]

          statuses.all? { |status| status && healthy?(status) } ? 0 : ExitCode::FAILED
        end

        def healthy?(status)
          !status["crash_loop"] && status["nodes"].any? { |node| node["state"] == "ready" }
        end

        # A swarm that doesn't answer must not keep the others from being shown.
        def status_soon(path)
          Control::Client.new(path).status(timeout: LIST_TIMEOUT)
        rescue Control::Unreachable, Control::CommandRefused => e
          err.puts("skep: #{UI.clean(e.message)}")
          nil
        end

        def json(status) = JSON.generate(status, max_nesting: 0)

        def table(status)
          out.puts(headline(status))
          out.puts(node_table(status["nodes"]))
          ::Skep::Kafka::GroupStatus.all(status).each { |group| group(group) }
          suspects(status["suspects"].to_a.sort_by { |one| [-one["alone"], -one["crashes"]] })
        end

        def headline(status)
          looping = ", #{ansi.style("in a crash loop", :red)}" if status["crash_loop"]
          color = UI::Ansi.color_of_state(status["state"])
          state = ansi.style(UI.clean(status["state"]), color)
          limit = NODES_FROM[status["nodes_from"]] # nil before the swarm file is loaded
          "#{UI.clean(status["name"])}: #{state}#{looping}, pid #{status["pid"]}, " \
            "up #{status["uptime"].round} s, skep #{UI.clean(status["skep"])}" \
            "#{", number of nodes by #{limit}" if limit}"
        end

        def node_table(nodes)
          UI::TextTable.new(COLUMNS, nodes.map { |node| row(node) }).to_s do |cell, row, column|
            next ansi.style(cell, :bold) unless row

            column == STATE ? ansi.style(cell, UI::Ansi.color_of_node(nodes[row])) : cell
          end
        end

        def ansi = @ansi ||= UI::Ansi.for(out)

        def group(group)
          lag, unknown = ::Skep::Kafka::GroupStatus.lag([group])
          name = "group #{UI.clean(group.name)}"
          p50, p99 = group.handler_times.map { |seconds| UI::Humanize.seconds(seconds) }
          out.puts("#{name}: lag #{lag || "-"}#{", #{unknown} unknown" if unknown}, " \
                   "#{group.rate} messages/s, a batch takes #{p50} (p50) to #{p99} (p99)")
          totals = group.totals.map { |count, total| "#{count.tr("_", " ")} #{total}" }.join(", ")
          out.puts("#{name} since the swarm started: #{totals}")
          failing(name, group.failing)
          return unless options[:partitions]

          rows = group.partitions.map { |one| partition(one) }
          out.puts(ROWS, UI::TextTable.new(PARTITION, rows))
        end

        def failing(name, all)
          all.first(FAILING).each { |one| out.puts("#{name} failing: #{UI.clean(one.to_s)}") }
          out.puts("and #{all.size - FAILING} more") if all.size > FAILING
        end

        def partition(one)
          [one.topic, one.number, one.node, one.position, one.lag, one.rate,
           *one.handler_times.map { |seconds| UI::Humanize.seconds(seconds) }, *one.counts.values,
           one.failing && one.failing["cause"].tr("_", " ")]
        end

        # The most suspicious first.
        def suspects(all)
          all.first(SUSPECTS).each { |one| out.puts(suspect(one)) }
          out.puts("and #{all.size - SUSPECTS} more suspects") if all.size > SUSPECTS
        end

        def suspect(one)
          UI.clean("suspect: #{one["in_flight"]}, crashes #{one["crashes"]}, " \
                   "alone #{one["alone"]} (#{one["ends"].join("; ")})")
        end

        def row(node)
          memory = node["memory"] || {}
          # Work that isn't Kafka's need not say that it is assigned.
          assigned = node["assigned"] || (false if node["work"].key?("group"))
          [node["id"], node["pid"], node["mold"], node["state"], assigned,
           node["restarts"], mib(memory["uss"]), mib(memory["shared"]),
           node["beat_age"] && "#{node["beat_age"].round(1)}s", node["work"]["done"],
           node["last_exit"] && UI::Humanize.exit_reason(node["last_exit"])]
        end

        def mib(bytes) = bytes && "#{(bytes / 1_048_576.0).round(1)}M"
      end
    end
  end
end
