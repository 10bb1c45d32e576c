# frozen_string_literal: true

require "json"
require "skep/cli/swarm_command"

# `skep profile [NAME] [SECONDS]`: samples all nodes of a running swarm at once, shows the hottest
# methods, and writes a file for speedscope.
module Skep
  module CLI
    module Commands
      class Profile < SwarmCommand
        SUMMARY = "Sample all nodes for 10 s, or SECONDS (1 to 300), and show the hottest methods"
        USAGE = "skep profile [NAME] [SECONDS] [options]"
        EXAMPLES = ["skep profile", "skep profile billing 30",
                    "skep profile billing --work orders --output /tmp/orders.json",
                    "skep profile billing --state gvl"].freeze
        SECONDS = 10.0
        LONGEST = Swarm::Profiling::MAX_SECONDS
        MARGIN = 30.0 # seconds that a swarm may take to answer, beyond those of the profile
        TOP = 10
        private_constant :SECONDS, :LONGEST, :MARGIN, :TOP

        private

        def declare(parser)
          super
          parser.on("--output FILE", "the file for speedscope.app (NAME-profile.json)") do |path|
            options[:output] = path
          end
          parser.on("--state STATE", Control::Profile::STATES.keys,
                    "show threads in this state: cpu, queue (they wait for a CPU), " \
                    "gvl (for the GVL), wait (for anything else); default cpu") do |state|
            options[:state] = state
          end
          filters(parser)
          parser.on("--json", "one line of JSON on stdout") { options[:json] = true }
        end

        def filters(parser)
          parser.on("--work WORK", "this work only") { |name| filter[:work] = name }
          parser.on("--node N", Integer, "this node only") { |id| filter[:node] = id }
          parser.on("--thread NAME", "threads with this name only") do |name|
            filter[:thread] = name
          end
          parser.on("--topic TOPIC", "handlers of this topic only") do |topic|
            filter[:label] = { "topic" => topic }
          end
        end

        def filter = options[:filter] ||= {}
        def state = options.fetch(:state, "cpu")

        def perform
          seconds = seconds_of_arguments
          path = control_path
          reject_extra_arguments!
          profile = ask_for(path, seconds)
          profile.missing.each { |node| err.puts("skep: #{absent(node)}") }
          raise CommandFailed, "no node sent a profile" if profile.nodes.empty?

          selected = profile.select(**filter)
          raise CommandFailed, nothing_left(profile) if selected.stacks.empty?

          file = options.fetch(:output) { "#{File.basename(path, ".sock")}-profile.json" }
          options[:json] ? out.puts(json(selected, file)) : show(selected)
          write(file, selected)
          0
        end

        # One argument alone is SECONDS if it is a number.
        def seconds_of_arguments
          last = arguments.last
          return SECONDS unless last && (arguments.size > 1 || last.match?(/\A-?\d+(\.\d+)?\z/))

          seconds = Float(arguments.pop, exception: false)
          return seconds if seconds&.between?(1, LONGEST)

          raise UsageError, "SECONDS must be a number from 1 to #{LONGEST} (got #{last})"
        end

        def ask_for(path, seconds)
          answer = Control::Client.new(path).call("profile", seconds:, timeout: seconds + MARGIN)
          error = answer["error"]
          raise CommandFailed, error if error

          Control::Profile.of(answer["profile"])
        rescue Control::InvalidAnswer => e
          raise Control::Unreachable.because(path, e)
        end

        def absent(node)
          UI.clean("node #{node["node"]} (pid #{node["pid"] || "unknown"}) isn't in the profile: " \
                   "#{node["why"]}")
        end

        def nothing_left(profile)
          works = profile.works.compact
          threads = profile.stacks.map(&:thread).uniq.first(TOP)
          topics = profile.stacks.filter_map { |stack| stack.label["topic"] }.uniq.first(TOP)
          UI.clean("no samples match: there are works #{works.join(", ")}; threads " \
                   "#{threads.join(", ")}#{"; topics #{topics.join(", ")}" if topics.any?}")
        end

        def show(profile)
          out.puts(headline(profile), node_table(profile), "")
          out.puts(ansi.style("Time #{Control::Profile::STATES[state]}, by method", :bold),
                   top_table(profile))
          return if profile.works.size < 2

          profile.works.each do |work|
            out.puts("", ansi.style(UI.clean("work #{work}"), :bold),
                     top_table(profile.select(work:)))
          end
        end

        def headline(profile)
          cpu = profile.seconds("cpu")
          text = "#{profile.swarm}: #{UI::Humanize.counted(profile.nodes.size, "node")}, " \
                 "#{profile.asked_seconds.round} s, #{cpu.round(1)} s of CPU time, " \
                 "#{UI::Humanize.counted(profile.samples, "sample")}"
          [UI.clean(text), *notes(profile)]
        end

        def notes(profile)
          rough = profile.nodes.reject(&:sampler).map(&:id)
          [("nodes #{rough.join(", ")} have no sampler, so their shares of CPU time are rough: " \
            "skep's C part isn't loaded, or another profiler uses SIGPROF" if rough.any?),
           ("#{profile.lost} samples had no room" if profile.lost.positive?),
           ("#{profile.dropped_stacks} rare stacks had no room: their time counts, without a " \
            "method" if profile.dropped_stacks.positive?)].compact
        end

        # Percent of the profile's time: of one CPU, or of the node's threads with a reading.
        def node_table(profile)
          rows = profile.nodes.map do |node|
            alone = profile.select(node: node.id)
            hot = alone.top(state, 1).first
            [node.id, node.work, node.pid, percent(alone.seconds("cpu"), node),
             percent(alone.seconds("queue"), node), percent(alone.seconds("gvl"), node),
             hot && "#{hot[:percent]}% #{hot[:name]}"]
          end
          UI::TextTable.new(["node", "work", "pid", "cpu", "queue", "gvl", "hottest"], rows).to_s
        end

        def percent(seconds, node) = "#{(100 * seconds / node.seconds).round}%"

        def top_table(profile)
          rows = profile.top(state, TOP).map do |row|
            ["#{row[:percent]}%", "#{row[:seconds].round(2)}s", row[:name], place(row),
             caller_of(row)]
          end
          return "nothing" if rows.empty?

          UI::TextTable.new(["self", "time", "method", "at", "in"], rows).to_s
        end

        # A block's name doesn't tell where it is.
        def caller_of(row)
          name, file, line = row[:in]&.values_at(:name, :file, :line)
          return if name.nil? || name == row[:name]

          name.start_with?("block ", "<") ? "#{name} #{short(file)}:#{line}" : name
        end

        def place(row) = row[:file] && "#{short(row[:file])}:#{row[:line]}"
        def short(path) = path.delete_prefix("#{Dir.pwd}/").sub(%r{\A.*/gems/(?=[^/]+/)}, "")
        def ansi = @ansi ||= UI::Ansi.for(out)

        def json(profile, file)
          nodes = profile.nodes.map do |node|
            alone = profile.select(node: node.id)
            { id: node.id, work: node.work, pid: node.pid, seconds: node.seconds, cpu: node.cpu,
              queue: alone.seconds("queue").round(3), gvl: alone.seconds("gvl").round(3),
              samples: node.samples, lost: node.lost, sampler: node.sampler }
          end
          works = profile.works.to_h { |work| [work.to_s, profile.select(work:).top(state, TOP)] }
          JSON.generate({ swarm: profile.swarm, seconds: profile.asked_seconds, state:, file:,
                          nodes:, missing: profile.missing, top: profile.top(state, TOP), works:,
                          dropped_stacks: profile.dropped_stacks }, max_nesting: 0)
        end

        def write(file, profile)
          File.write(file, Control::Speedscope.of(profile))
          out.puts("", "#{file}: open it at https://www.speedscope.app") unless options[:json]
        rescue SystemCallError => e
          why = e.message.sub(/ @ .*/, "").downcase
          raise CommandFailed, "the profile can't be written to #{file}, #{why}: name another " \
                               "file with --output"
        end
      end
    end
  end
end
