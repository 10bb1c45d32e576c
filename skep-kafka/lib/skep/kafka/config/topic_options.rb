# frozen_string_literal: true

# The options of a source with several topics, each of which has a handler and options of its own.
#
#   options = SeveralTopics.new(list, kafka: { … }, group: "billing", max_attempts: 5)
#   options.for("orders").max_attempts   # => 3, if the topic says so; nil unless it is read
#   options.handler                      # calls the handler of a batch's topic
#   options.errors                       # of the source, and of each topic
#
# It has what SourceOptions has, for what the topics share: group, threads, commits.
module Skep
  module Kafka
    module Config
      # One of these topics, or patterns: the source's options, with the topic's own over them.
      #
      #   topic = TopicOptions.new("orders", { max_attempts: 3 }, handler, kafka: { … }, group: "b")
      #   topic.weight    # => 1, its share of the node's time among topics with messages
      class TopicOptions < SourceOptions
        SHARED = %i[kafka group topics threads commit_interval leave_on_stop rebalance_wait
                    stall_timeout serializer oauth producer transactional offsets
                    connect_timeout].freeze
        private_constant :SHARED

        attr_reader :name
        attr_reader :own # the options that it doesn't share
        attr_reader :weight
        attr_reader :handler

        def initialize(name, own, handler, **shared)
          @name, @own, @handler = name.to_s, own, handler
          @weight = own.fetch(:weight, 1)
          super(**shared, **own.slice(*allowed - [:weight]), topics: @name)
        end

        # Returns true for the topic's name; for a pattern, for the names that it matches.
        def reads?(topic) = names?(name, topic)

        def pattern? = name.start_with?("^")

        # What it doesn't share, as plain data without secrets.
        def own_facts = own.slice(*allowed).transform_values { |value| shown(value) }

        def inspect = "#<Skep::Kafka::Config::TopicOptions #{name}>"

        private

        def wrong(given) = [*super, *not_allowed, *no_handler, *wrong_weight]

        def allowed = DEFAULTS.keys - SHARED + [:weight]

        def not_allowed
          shared, others = (own.keys - allowed).partition { |name| SHARED.include?(name) }
          [*shared.map { |name| "#{name} is an option of the whole source" },
           *no_option("a topic", others, allowed)]
        end

        def no_handler
          "it needs a handler: source.topic(#{name.inspect}) { |batch, node| … }" unless handler
        end

        def wrong_weight
          must_be("a number from 0.01 to 100", weight:) do |value|
            positive_seconds?(value) && value.between?(0.01, 100)
          end
        end
      end

      class SeveralTopics < SourceOptions
        BOTH = "topics are given twice: by the option and in the block. Leave the option out"
        private_constant :BOTH

        attr_reader :all # TopicOptions

        # list: [name, options, handler] of each topic.
        def initialize(list, **given)
          shared = given.except(:topics)
          @both = given.key?(:topics)
          @all = list.map { |name, own, handler| TopicOptions.new(name, own, handler, **shared) }
          @by_name = all.to_h { |one| [one.name, one] }
          super(**given, topics: list.map(&:first))
        end

        def several? = true

        # A topic's own name comes before patterns, and these in their order. (librdkafka may match
        # a pattern that Ruby doesn't.)
        def for(topic)
          @by_name[topic] || all.find { |one| one.reads?(topic) } || all.find(&:pattern?) ||
            all.first
        end

        def handler = ->(batch, node) { self.for(batch.topic).handler.call(batch, node) }

        def facts
          { **super, topic_options: all.to_h { |one| [one.name, one.own_facts] } }
        end

        def timeless(skipped)
          copy = dup
          copy.instance_variable_set(:@all, all.map { |one| one.timeless(skipped) }.freeze)
          copy.instance_variable_set(:@by_name, copy.all.to_h { |one| [one.name, one] })
          copy.freeze
        end

        private

        # What all topics have wrong is the source's.
        def wrong(_given)
          return [EMPTY] if all.empty?

          common = all.map(&:errors).reduce(:&)
          [*(BOTH if @both), *common, *twice, *circles,
           *all.flat_map { |one| errors_of(one, common) }]
        end

        # A dead letter would be read, fail, and be written again.
        def circles
          all.filter_map do |topic|
            way = [topic]
            until way.last.nil? || way.tally[way.last] > 1
              way << reader_of(way.last.dead_letter_topic)
            end
            next unless way.size > 2 && way.last.equal?(topic)

            names = way.map(&:name).join(", ")
            "topic #{topic.name}: its dead letters come back to it (#{names}). Choose another " \
              "dead_letter_topic"
          end
        end

        def reader_of(topic)
          return unless topic

          @by_name[topic.to_s] || all.find { |one| one.reads?(topic.to_s) }
        end

        def errors_of(topic, common)
          (topic.errors - common).map { |text| "topic #{topic.name}: #{text}" }
        end

        def twice
          all.map(&:name).tally.filter_map do |name, times|
            "topic #{name} is given #{times} times. Give each topic one handler" if times > 1
          end
        end

        EMPTY = "the source's block gives no topic: call " \
                "source.topic(\"orders\") { |batch, node| … }"
        private_constant :EMPTY
      end
    end
  end
end
