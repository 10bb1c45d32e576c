# frozen_string_literal: true

require "json"
require "skep/cli/doctor/examination"
require "skep/cli/doctor/opened"
require "skep/cli/doctor/outside"
require "skep/cli/doctor/table"

# `skep doctor FILE`: loads a swarm file as its mold would, or any Ruby file, and tells what would
# break in a child forked then; exit code 1 if anything would. `skep doctor --pid PID`: what can be
# seen of a running process from outside, which is no verdict.
module Skep
  module CLI
    class Doctor < Command
      PURPOSE = "find what is unsafe to carry across a fork"
      USAGE = "skep doctor (FILE [options] [-- ARGUMENTS FOR THE FILE] | --pid PID) [--json]"
      TAKES = :file
      EXAMPLES = ["skep doctor swarm.rb", "skep doctor config/environment.rb --json",
                  "skep doctor --pid 4242"].freeze
      SECONDS = 60.0
      private_constant :SECONDS

      private

      def declare(parser)
        parser.on("--pid PID", Integer, "look at a running process from outside") do |pid|
          options[:pid] = pid
        end
        parser.on("--json", "one line of JSON") { options[:json] = true }
        parser.on("--timeout SECONDS", Float, "how long FILE may take to load (60)") do |seconds|
          options[:timeout] = seconds
        end
      end

      def perform
        return look if options[:pid]

        examine(argument("FILE"))
      end

      def examine(file)
        report = Examination.new(file, arguments: @arguments).run(options.fetch(:timeout, SECONDS))
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
        notes = findings.size - breaks
        return out.puts("#{file}: nothing found that a child couldn't carry on") if findings.empty?

        out.puts("#{file}: #{breaks} would break in a child, #{notes} worth knowing", "")
        rows = findings.map { |one| one.values_at("severity", "what", "where", "advice") }
        rows.each { |row| row[2] = row[2].gsub("#{Dir.pwd}/", "") }
        table = Table.new(["severity", "what", "where", "what to do"], rows)
        out.puts(table.to_s(Table.width(out)))
      end

      def look
        nothing_more
        outside = Outside.new(options[:pid])
        out.puts(options[:json] ? JSON.generate(outside.facts) : outside.to_s(Table.width(out)))
        0
      end
    end
  end
end
