# frozen_string_literal: true

# What `skep kafka lag` and `skep kafka dead` share: which cluster, and with what secrets,
# librdkafka's settings say: on the command line (where other users can read it), in files of lines
# such as `sasl.password=…`, or in a swarm file. Later ones win: --file, --config, --set, --brokers.
module Skep
  module Kafka
    class Command
      class ClusterCommand < CLI::Command
        SECONDS = 15.0
        private_constant :SECONDS

        private

        def declare_cluster(parser, json:)
          parser.on("--brokers LIST", "the brokers to connect to first, HOST:PORT,…") do |list|
            options[:brokers] = list
          end
          parser.on("--config FILE", "a file of settings, name=value in each line") do |path|
            (options[:config] ||= []) << path
          end
          parser.on("--set NAME=VALUE", "one setting; other users may see it") do |text|
            (options[:set] ||= []) << text
          end
          parser.on("--file SWARM", "the settings and groups of a swarm file") do |path|
            options[:file] = path
          end
          parser.on("--timeout SECONDS", Float,
                    "how long to wait for the brokers (15)") do |seconds|
            options[:timeout] = seconds
          end
          parser.on("--json", json) { options[:json] = true }
        end

        def cluster = ClusterSettings.new(options)

        def seconds
          seconds = options.fetch(:timeout, SECONDS)
          return seconds if seconds.positive?

          raise UsageError, "--timeout must be more than 0 (got #{format("%g", seconds)})"
        end
      end
    end
  end
end
