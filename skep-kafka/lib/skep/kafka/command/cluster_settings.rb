# frozen_string_literal: true

module Skep
  module Kafka
    class Command
      # librdkafka's settings from the options of a command line: a swarm file, files of settings,
      # single settings, brokers.
      #
      #   cluster = ClusterSettings.new(file: "swarm.rb", set: ["client.id=me"])
      #   cluster.groups           # => the groups that the swarm file names
      #   cluster.of("billing")    # => librdkafka's settings, as a Hash
      #   cluster.of_dead_letters("orders.dead")   # => those of the source that writes there
      #   cluster.dead_letter_topics               # => the topics of the swarm file's sources
      #
      # No error shows the content of a file of settings: it may be a secret.
      class ClusterSettings
        LINE = /\A\s*([\w.]+)\s*[=:]\s*(.*?)\s*\z/
        COMMENT = /\A\s*(?:[#!].*)?\z/
        NO_CLUSTER = "which cluster? name its brokers with --brokers kafka-1:9092, or a file " \
                     "that does with --config or --file"
        private_constant :LINE, :COMMENT, :NO_CLUSTER

        def initialize(options)
          @options = options
          @sources = options[:file] ? sources(options[:file]) : []
        end

        def groups = @sources.map { |facts, _| facts[:group] }.uniq
        def dead_letter_topics = @sources.flat_map { |_, _, dead| dead }.reject(&:empty?).uniq

        # Returns the settings for a group.
        def of(group)
          with(@sources.find { |facts, _| facts[:group] == group } || @sources.first)
        end

        # Returns the settings for a dead letter topic. If no source writes there, all must have one
        # cluster.
        def of_dead_letters(topic)
          found = @sources.find { |_, _, dead| dead.include?(topic) }
          one = @options[:brokers] || @sources.map { |facts, _| facts[:brokers] }.uniq.size <= 1
          unless found || one
            raise UsageError, "no work of #{@options[:file]} has the dead letter topic #{topic}, " \
                              "and they have several clusters: name its brokers with --brokers"
          end

          with(found || @sources.first)
        end

        private

        def with(source)
          _, own = source
          settings = [own.to_h, *files, *pairs, *brokers].reduce(:merge)
          return settings if settings.key?("bootstrap.servers")

          raise UsageError, NO_CLUSTER
        end

        # Facts, settings and dead letter topics of each source in a swarm file.
        def sources(path)
          require "skep"
          tasks = Swarm::Definition::Loader.new(path).swarm.tasks
          found = tasks.filter_map(&:source).select do |source|
            source.is_a?(Source)
          end
          raise UsageError, "#{path}: none of its work reads from Kafka" if found.empty?

          found.map do |source|
            options = source.__options
            dead = options.all.map { |one| one.dead_letter_topic.to_s }
            [source.facts, options.settings.to_h, dead]
          end
        end

        def files = @options[:config].to_a.map { |path| read(path) }
        def brokers = @options[:brokers]&.then { |list| [{ "bootstrap.servers" => list }] }

        def pairs
          @options[:set].to_a.map do |text|
            name, value = LINE.match(text)&.captures
            name ? { name => value } : raise(UsageError, "--set must be NAME=VALUE")
          end
        end

        def read(path)
          lines = File.readlines(path, chomp: true, encoding: "UTF-8")
          lines.map.with_index(1).reject { |line, _| line.scrub.match?(COMMENT) }.to_h do |line, at|
            LINE.match(line.scrub)&.captures or
              raise UsageError, "#{path}: line #{at} isn't a setting: write name=value"
          end
        rescue SystemCallError => e
          raise UsageError, "#{path}: #{e.message.sub(/ @ .*/, "").downcase}"
        end
      end
    end
  end
end
