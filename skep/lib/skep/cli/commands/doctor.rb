# frozen_string_literal: true

require "skep/cli/file_command"
require "skep/cli/doctor"

# `skep doctor [FILE]`: loads a swarm file as its mold would, or any Ruby file, and lists what would
# break in a child that is forked then. The exit code is 1 if anything would, and 78 for a file that
# `skep check` refuses with 78.
module Skep
  module CLI
    module Commands
      class Doctor < FileCommand
        SUMMARY = "Find what a file leaves open that is unsafe to carry across a fork"
        USAGE = "skep doctor [FILE] [options] [-- ARGUMENTS FOR THE FILE]"
        EXAMPLES = ["skep doctor", "skep doctor swarm.rb",
                    "skep doctor config/environment.rb --json"].freeze
        SECONDS = 60.0
        PLAIN_COLUMNS = 100
        LEAST_COLUMNS = 60
        private_constant :SECONDS, :PLAIN_COLUMNS, :LEAST_COLUMNS

        private

        def declare(parser)
          parser.on("--json", "one line of JSON") { options[:json] = true }
          parser.on("--timeout SECONDS", Float, "how long FILE may take to load (60)") do |seconds|
            options[:timeout] = seconds
          end
        end

        def perform
          file = swarm_file
          inspection = CLI::Doctor::Inspection.new(file, arguments: file_arguments)
          report = inspection.run(options.fetch(:timeout, SECONDS))
          findings = report.fetch("findings")
          breaks = findings.count { |finding| finding["severity"] == "breaks" }
          if options[:json]
            out.puts(JSON.generate({ file:, breaks:, **report.slice("swarm", "findings") }))
          else
            show(file, findings, breaks)
          end
          breaks.zero? ? 0 : 1
        end

        def show(file, findings, breaks)
          return out.puts("#{file}: nothing found that is unsafe in a child") if findings.empty?

          out.puts("#{file}: #{breaks} would break in a child, #{findings.size - breaks} to note",
                   "")
          rows = findings.map { |one| one.values_at("severity", "what", "where", "advice") }
          rows.each { |row| row[2] = row[2].gsub("#{Dir.pwd}/", "") }
          table = UI::TextTable.new(["severity", "what", "where", "what to do"], rows)
          out.puts(table.to_s(max_width: [UI.width(out) || PLAIN_COLUMNS, LEAST_COLUMNS].max))
        end
      end
    end
  end
end
