# frozen_string_literal: true

require "json"
require "skep/cli/swarm_command"
require "skep/cli/swarm_list"

# `skep status [NAME]`: the state of a running swarm as a table or as one line of JSON. Below the
# table are lines of the plugins of its work. Without a name it lists all swarms if several run.
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
        SUSPECTS = 5
        PROBLEMS = 10
        LIST_TIMEOUT = 2.0 # seconds
        NODES_FROM = { "option" => "the option", "affinity" => "the CPU affinity",
                       "cpu_quota" => "the CPU quota" }.freeze
        private_constant :COLUMNS, :SUSPECTS, :PROBLEMS, :LIST_TIMEOUT, :NODES_FROM

        private

        def declare(parser)
          super
          parser.on("--json", "one line of JSON") { options[:json] = true }
          parser.on("--partitions", "also each partition") { options[:partitions] = true }
          parser.on("--exit-status", "exit with 1 if a problem is critical, or no node is ready") do
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
          return false if status["crash_loop"] || UI::ProblemLines.new(status).any?("critical")

          status["nodes"].any? { |node| node["state"] == "ready" }
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
          problems(UI::ProblemLines.new(status))
          out.puts(node_table(status["nodes"], works: status["works"].to_a.size > 1))
          partitions = options[:partitions]
          lines = Plugin.of(status).flat_map { |plugin| plugin.status_lines(status, partitions:) }
          lines.each { |line| out.puts(line) }
          suspects(status["suspects"].to_a.sort_by { |one| [-one["alone"], -one["crashes"]] })
        end

        def problems(lines)
          lines.each(most: PROBLEMS) do |line, remedy, color|
            out.puts(ansi.style(line, color), "  #{remedy}")
          end
          left = lines.left_out(PROBLEMS)
          out.puts("and #{UI::Humanize.counted(left, "more problem")}") if left.positive?
        end

        def headline(status)
          looping = ", #{ansi.style("in a crash loop", :red)}" if status["crash_loop"]
          color = UI::ProblemLines.new(status).color || UI::Ansi.color_of_state(status["state"])
          state = ansi.style(UI.clean(status["state"]), color)
          limit = NODES_FROM[status["nodes_from"]] # nil before the swarm file is loaded
          "#{UI.clean(status["name"])}: #{state}#{looping}, pid #{status["pid"]}, " \
            "up #{status["uptime"].round} s, skep #{UI.clean(status["skep"])}" \
            "#{revision(status["revision"])}" \
            "#{", number of nodes by #{limit}" if limit}"
        end

        # A commit of Git in full would fill half of the line.
        def revision(text)
          ", revision #{UI.clean(text.sub(/\A(\h{12})\h{28,}\z/, '\1'))}" if text.is_a?(String)
        end

        # works: true if there are several: they get a column.
        def node_table(nodes, works:)
          columns = works ? COLUMNS.dup.insert(1, "work") : COLUMNS
          rows = nodes.map do |node|
            works ? row(node).insert(1, node["work_name"]) : row(node)
          end
          state = columns.index("state")
          UI::TextTable.new(columns, rows).to_s do |cell, row, column|
            next ansi.style(cell, :bold) unless row

            column == state ? ansi.style(cell, UI::Ansi.color_of_node(nodes[row])) : cell
          end
        end

        def ansi = @ansi ||= UI::Ansi.for(out)

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
          # Work without a group need not say that it is assigned.
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
