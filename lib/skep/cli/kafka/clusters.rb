# frozen_string_literal: true

module Skep
  module CLI
    class Kafka < Command
      # The settings that a command line asks for, from wherever it says.
      #
      #   clusters = Clusters.new(file: "swarm.rb", set: ["client.id=me"])
      #   clusters.groups           # => the groups that the swarm file names
      #   clusters.of("billing")    # => librdkafka's settings, as a hash
      #
      # What is in a file of settings is never shown: it may be a secret.
      class Clusters
        LINE = /\A\s*([\w.]+)\s*[=:]\s*(.*?)\s*\z/
        COMMENT = /\A\s*(?:[#!].*)?\z/
        NO_CLUSTER = "which cluster? name its brokers with --brokers kafka-1:9092, or a file " \
                     "that does with --config or --file"
        private_constant :LINE, :COMMENT, :NO_CLUSTER

        def initialize(options) #: (Hash[Symbol, untyped]) -> void
          @options = options
          @sources = options[:file] ? sources(options[:file]) : []
        end

        def groups = @sources.map { |facts, _| facts[:group] }.uniq #: () -> Array[String]

        #: (String) -> Hash[String, String]
        def of(group)
          _, own = @sources.find { |facts, _| facts[:group] == group } || @sources.first
          settings = [own.to_h, *files, *pairs, *brokers].reduce(:merge)
          return settings if settings.key?("bootstrap.servers")

          raise Misuse, NO_CLUSTER
        end

        private

        # Facts and settings of each source in a swarm file.
        def sources(path)
          require "skep"
          tasks = Swarm::Definition::Loader.new(path).swarm.tasks
          found = tasks.filter_map(&:source).select do |source|
            source.is_a?(::Skep::Kafka::Source)
          end
          raise Misuse, "#{path}: no work of it reads from Kafka" if found.empty?

          found.map { |source| [source.facts, source.__options.settings.to_h] }
        end

        def files = @options[:config].to_a.map { |path| read(path) }
        def brokers = @options[:brokers]&.then { |list| [{ "bootstrap.servers" => list }] }

        def pairs
          @options[:set].to_a.map do |text|
            name, value = LINE.match(text)&.captures
            name ? { name => value } : raise(Misuse, "--set takes name=value")
          end
        end

        def read(path)
          lines = File.readlines(path, chomp: true, encoding: "UTF-8")
          lines.map.with_index(1).reject { |line, _| line.scrub.match?(COMMENT) }.to_h do |line, at|
            LINE.match(line.scrub)&.captures or
              raise Misuse, "#{path}: line #{at} is no setting: write name=value"
          end
        rescue SystemCallError => e
          raise Misuse, "#{path}: #{e.message.sub(/ @ .*/, "").downcase}"
        end
      end
    end
  end
end
