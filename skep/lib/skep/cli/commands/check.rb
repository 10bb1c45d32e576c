# frozen_string_literal: true

require "skep/cli/file_command"

# `skep check [FILE]`: loads a swarm file and prints every error and warning at once, without
# running any of it. A file with errors ends it with 78, as it ends `skep run`.
module Skep
  module CLI
    module Commands
      class Check < FileCommand
        SUMMARY = "Check a swarm file and print every error and warning"
        USAGE = "skep check [FILE]"
        EXAMPLES = ["skep check", "skep check swarm.rb"].freeze
        # Variables that skep reads or sets, and that are no options.
        VARIABLES = %w[run_dir pure node_id owner_pid heap_slots].freeze
        private_constant :VARIABLES

        private

        def perform
          require "skep"
          file = swarm_file
          reject_extra_arguments!
          swarm = Swarm::Definition::Loader.new(file).swarm
          plain = swarm.__to_plain
          given = plain["options"].merge(Swarm::Definition::EnvironmentOptions.read)
          config = Swarm::Definition::Config.new(plain["name"], given, tasks: plain["tasks"])
          code = report(file, config, [*config.errors, *missing_gems(config)],
                        [*config.warnings, *config.work_warnings.uniq, *misspelt(plain["events"]),
                         *misspelt_variables])
          [*works(config), *memberships(swarm, config)].each { |line| out.puts("  #{line}") } if
            code.zero?
          code
        end

        # A line for each work that has a name or options of its own, or isn't alone.
        def works(config)
          shown = config.works.select do |work|
            work.named? || work.own.any? || work.one_of_several?
          end
          shown.map do |work|
            own = work.own.except(:nodes).map { |option, value| shown_as(option, value) }
            ["work #{work.name}: #{UI::Humanize.counted(work.nodes, "node")}", *own].join(", ")
          end
        end

        def shown_as(option, value)
          value = UI::Humanize.bytes(value) if option == :memory_limit && value
          [option, value.nil? ? "none" : value].flatten.join(" ")
        end

        # Sentences of sources about themselves.
        def memberships(swarm, config)
          ids = config.placement.each_index.group_by { |id| config.placement[id] }
          swarm.tasks.each_with_index.filter_map do |task, index|
            next unless ids.key?(index) && task.source.respond_to?(:__membership)

            [task.source.__membership(config.name, ids[index]), *task.source.__endless_retries]
          end.flatten
        end

        # Gems that options need.
        def missing_gems(config)
          Swarm.service.prepare(config)
          []
        rescue Skep::Error => e
          [e.message]
        end

        # A block may be for an event of the application's own, but a name that is nearly skep's is
        # a mistake.
        def misspelt(events)
          known = Log::EventCatalog.names
          (events - known).filter_map do |name|
            near = Spelling.nearest(name, known)
            "on(:#{name}): skep publishes no such event: did you mean #{near}?" if near
          end
        end

        # Other variables may be the application's own, but a name that is nearly an option's is a
        # mistake.
        def misspelt_variables(environment = ENV)
          prefix = Swarm::Definition::EnvironmentOptions::PREFIX
          known = [*Swarm::Definition::Config::Options::ALL.keys.map(&:to_s), *VARIABLES]
          given = environment.reject { |_, text| text.empty? }.keys.grep(/\A#{prefix}/)
          (given.map { |name| name.delete_prefix(prefix).downcase } - known).filter_map do |name|
            near = Spelling.nearest(name, known) or next
            "#{variable(name)} in the environment has no effect: did you mean #{variable(near)}?"
          end
        end

        def variable(name) = "#{Swarm::Definition::EnvironmentOptions::PREFIX}#{name.upcase}"

        def report(file, config, errors, warnings)
          errors.each { |sentence| err.puts("skep: #{file}: #{sentence}") }
          warnings.each { |sentence| err.puts("skep: #{file}: warning: #{sentence}") }
          return ExitCode::CONFIGURATION if errors.any?

          nodes = UI::Humanize.counted(config.placement.size, "node")
          out.puts("#{file}: swarm #{config.name}, #{nodes}, good to run")
          0
        end
      end
    end
  end
end
