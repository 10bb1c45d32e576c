# frozen_string_literal: true

require "skep/cli/asking"
require "skep/cli/colours"
require "skep/cli/columns"

# `skep status [NAME]`: what a running swarm is doing, as a table or as one line of JSON; with
# --partitions also each partition that its nodes read. Where several run and none is named it lists
# them all. On a terminal states have colours.
module Skep
  module CLI
    class Status < Command
      include Asking

      PURPOSE = "show a running swarm's nodes"
      USAGE = "skep status [NAME] [--partitions] [--json]"
      EXAMPLES = ["skep status", "skep status billing --json",
                  "skep status billing --partitions"].freeze
      COLUMNS = %w[node pid mold state joined restarts uss shared beat done last\ exit].freeze
      SUSPECTS = 5
      SECONDS = 2.0
      STATE = COLUMNS.index("state")
      private_constant :COLUMNS, :SUSPECTS, :SECONDS, :STATE

      private

      def declare(parser)
        super
        parser.on("--json", "one line of JSON") { options[:json] = true }
        parser.on("--partitions", "also each partition of Kafka's") { options[:partitions] = true }
      end

      def perform
        return list(running) if !named? && running.size > 1

        status = Watch::Query.new(control_path).status
        nothing_more
        options[:json] ? out.puts(json(status)) : table(status)
        0
      end

      def list(paths)
        told = paths.map { |path| [name_of(path), soon(path)] }
        lines = told.filter_map { |_, status| json(status) if status }
        out.puts(options[:json] ? lines : Several.new(told, colours))
        0
      end

      # One that is stopped isn't to keep the others from being shown.
      def soon(path)
        Watch::Query.new(path).status(seconds: SECONDS)
      rescue Watch::Query::Failed, Watch::Query::Declined => e
        err.puts("skep: #{Text.clean(e.message)}")
        nil
      end

      def json(status) = JSON.generate(status, max_nesting: 0)

      def table(status)
        looping = ", #{colours.look("in a crash loop", :red)}" if status["crash_loop"]
        state = colours.look(Text.clean(status["state"]), Colours.of_state(status["state"]))
        out.puts("#{Text.clean(status["name"])}: #{state}#{looping}, pid #{status["pid"]}, " \
                 "up #{status["uptime"].round} s, skep #{Text.clean(status["skep"])}")
        out.puts(painted(status["nodes"]))
        groups(Group.all(status))
        suspects(status["suspects"].to_a.sort_by { |one| [-one["alone"], -one["crashes"]] })
      end

      def painted(nodes)
        Columns.new(COLUMNS, nodes.map { |node| row(node) }).to_s do |cell, row, column|
          next colours.look(cell, :bold) unless row

          column == STATE ? colours.look(cell, Colours.of_node(nodes[row])) : cell
        end
      end

      def colours = @colours ||= Colours.of(out)

      def groups(all)
        all.each do |group|
          out.puts(group.to_s.lines.map { |line| Text.clean(line.chomp) })
          out.puts(Columns.new(Group::HEAD, group.rows)) if options[:partitions]
        end
      end

      # The most suspicious first.
      def suspects(all)
        all.first(SUSPECTS).each { |one| out.puts(suspect(one)) }
        out.puts("and #{all.size - SUSPECTS} suspects more") if all.size > SUSPECTS
      end

      def suspect(one)
        Text.clean("suspect: #{one["in_hand"]}, crashes #{one["crashes"]}, " \
                   "alone #{one["alone"]} (#{one["ends"].join("; ")})")
      end

      def row(node)
        memory = node["memory"] || {}
        [node["id"], node["pid"], node["mold"], node["state"], node["joined"],
         node["restarts"], mib(memory["uss"]), mib(memory["shared"]),
         node["beat_age"] && "#{node['beat_age'].round(1)}s", node["work"]["done"],
         last_exit(node["last_exit"])]
      end

      def mib(bytes) = bytes && "#{(bytes / 1_048_576.0).round(1)}M"

      def last_exit(ended)
        return unless ended

        how = ended["signal"] ? "SIG#{ended['signal']}" : ended["status"]
        [how, ended["reason"]].compact.join(" ")
      end
    end
  end
end

require "skep/cli/status/group"
require "skep/cli/status/several"
