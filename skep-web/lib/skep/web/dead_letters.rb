# frozen_string_literal: true

require "skep/web/dead_letters/command"
require "skep/web/dead_letters/job"
require "skep/web/dead_letters/letter_presenter"
require "skep/web/dead_letters/topic"

module Skep
  class Web
    # The page's dead letters: lists them, shows them, and for a visitor that may act replays and
    # purges them, as `skep kafka dead` does.
    #
    #   dead_letters = DeadLetters.for({ "orders.dead" => { "bootstrap.servers": "kafka-1:9092" } })
    #   dead_letters.show(request)               # what is known of all topics, or of one
    #   dead_letters.letters(request)            # => a Response
    #   dead_letters.perform(request, session)   # => a Response
    #   dead_letters.close
    #
    # No request waits for a broker: it starts what takes long (Topic), and the page asks again.
    class DeadLetters
      TOPIC = /\A[a-zA-Z0-9._-]{1,249}\z/
      MAX_AGE = 60.0 # seconds: a list that is older is read again, where the page names no age
      MIN_AGE = 1.0 # seconds; see also Topic::SHARE
      LETTERS = (1..50)
      SHOWN = "10"
      NOT_A_HASH = "dead_letters: must be topics with the settings of their cluster, such as " \
                   "{ \"orders.dead\" => { \"bootstrap.servers\": \"kafka-1:9092\" } }"
      private_constant :TOPIC, :MAX_AGE, :MIN_AGE, :LETTERS, :SHOWN, :NOT_A_HASH

      class << self
        # topics: librdkafka's settings for each. Returns nil without topics. Raises ArgumentError,
        # and MissingGem without skep-kafka, Kafka::MissingGem without librdkafka.
        def for(topics)
          return if topics.nil? || topics == {}
          raise ArgumentError, NOT_A_HASH unless topics.is_a?(Hash)

          load_kafka
          Kafka::Librdkafka::Bindings.library
          new(topics.map { |name, settings| Topic.new(check(name), config(name, settings)) })
        end

        private

        def load_kafka
          require "skep/kafka"
        rescue LoadError => e
          raise unless e.path == "skep/kafka"

          raise MissingGem.new(error: e.message, needs: "dead_letters:",
                               gems: { "skep-kafka" => VERSION })
        end

        def check(name)
          return name.to_s if name.to_s.match?(TOPIC)

          raise ArgumentError, "dead_letters: #{name.inspect} isn't the name of a topic"
        end

        def config(name, settings)
          raise ArgumentError, NOT_A_HASH unless settings.is_a?(Hash)

          config = Kafka::Config::ClientConfig.new(settings)
          return config if config.errors.empty?

          raise ArgumentError, "dead_letters: #{name}: #{config.errors.join(" ")}"
        end
      end

      def initialize(topics)
        @topics = topics.to_h { |topic| [topic.name, topic] }
      end

      # Starts a list of a topic, unless the last one is recent.
      def show(request)
        return { topics: @topics.each_value.map(&:facts) } unless request.query["topic"]

        topic = find(request.query["topic"])
        age = Float(request.query["max_age"].to_s, exception: false) || MAX_AGE
        topic.list([age, MIN_AGE].max)
        topic.facts(groups: true)
      end

      # The status is 202 while they are being read.
      def letters(request)
        limit = Integer(request.query.fetch("limit", SHOWN), 10, exception: false)
        LETTERS.cover?(limit) or
          raise RequestRefused.new(400, "limit must be a number from 1 to #{LETTERS.last}")
        job = find(request.query["topic"]).letters(Filter.of(request.query), limit)
        facts = { ago: job.ago, letters: job.result, failure: job.failure }.compact
        HTTP::Response.json(job.running? ? 202 : 200, facts)
      end

      def perform(request, session)
        session.authorize(request.get_header("HTTP_X_SKEP_TOKEN"))
        topic = find(request.form["topic"])
        command = Command.new(request.form)
        about = topic.carry_out(command, by: session.name)
        name = session.name || "a visitor"
        request.env["rack.errors"]&.puts("skep web: #{name} sent #{command} to #{topic.name}")
        HTTP::Response.json(202, about)
      end

      # Interrupts all topics before it waits for any.
      def close = %i[interrupt close].each { |step| @topics.each_value(&step) }

      def inspect = "#<#{self.class} #{@topics.keys.join(", ")}>"

      private

      def find(name)
        @topics[name] or
          raise RequestRefused.new(404, "this page has no dead letter topic #{name.inspect}")
      end
    end
  end
end
