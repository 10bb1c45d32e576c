# frozen_string_literal: true

# `skep check FILE`: loads a swarm file and prints every error and warning at once,
# without running anything of it.
module Skep
  module CLI
    class Check < Command
      PURPOSE = "check a swarm file: every error and warning at once"
      USAGE = "skep check FILE"
      EXAMPLES = ["skep check swarm.rb"].freeze

      private

      def perform
        require "skep"
        file = argument("FILE")
        nothing_more
        plain = Swarm::Loader.new(file).swarm.__to_plain
        report(file, Swarm::Config.new(plain["name"], plain["options"], tasks: plain["tasks"]))
      end

      def report(file, config)
        config.errors.each { |sentence| err.puts("skep: #{file}: #{sentence}") }
        config.warnings.each { |sentence| err.puts("skep: #{file}: warning: #{sentence}") }
        return 1 unless config.valid?

        out.puts("#{file}: swarm #{config.name}, #{config.placement.size} nodes, good to run")
        0
      end
    end
  end
end
