# frozen_string_literal: true

# `skep check FILE`: loads a swarm file and prints every error and warning at once,
# without running anything of it. A file with errors ends it as it ends `skep run`, with 78.
module Skep
  module CLI
    class Check < Command
      PURPOSE = "check a swarm file: every error and warning at once"
      USAGE = "skep check FILE"
      TAKES = :file
      EXAMPLES = ["skep check swarm.rb"].freeze

      private

      def perform
        require "skep"
        file = argument("FILE")
        nothing_more
        plain = Swarm::Definition::Loader.new(file).swarm.__to_plain
        config = Swarm::Definition::Config.new(plain["name"], plain["options"],
tasks: plain["tasks"])
        report(file, config, [*config.errors, *lacks(config)],
               [*config.warnings, *misspelt(plain["events"])])
      end

      # A gem that an option needs.
      def lacks(config)
        Swarm.service.prepare(config)
        []
      rescue Skep::Error => e
        [e.message]
      end

      # A work tells events under names of its own, but one that is nearly skep's is a slip.
      def misspelt(events)
        return [] unless defined?(DidYouMean)

        names = DidYouMean::SpellChecker.new(dictionary: Watch::Events::NAMES)
        (events - Watch::Events::NAMES).filter_map do |name|
          near = names.correct(name).first
          "on(:#{name}): skep tells no such event: did you mean #{near}?" if near
        end
      end

      def report(file, config, errors, warnings)
        errors.each { |sentence| err.puts("skep: #{file}: #{sentence}") }
        warnings.each { |sentence| err.puts("skep: #{file}: warning: #{sentence}") }
        return ExitCode::CONFIGURATION if errors.any?

        out.puts("#{file}: swarm #{config.name}, #{config.placement.size} nodes, good to run")
        0
      end
    end
  end
end
