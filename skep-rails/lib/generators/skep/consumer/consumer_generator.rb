# frozen_string_literal: true

# `rails generate skep:consumer orders --model Order`: writes a consumer of a topic and its test,
# and adds the work to the swarm. What is there already stays as it is.
#
#   app/consumers/orders_consumer.rb
#   test/consumers/orders_consumer_test.rb
#   config/skep.rb                            # a source and its work more
require "rails/generators"
require_relative "../application_name"

module Skep
  # `rails generate` looks here.
  module Generators
    # Of `rails generate skep:consumer`.
    class ConsumerGenerator < ::Rails::Generators::NamedBase
      include ApplicationName

      desc "Writes a consumer of a Kafka topic, its test, and its work in config/skep.rb"
      source_root File.expand_path("templates", __dir__)
      class_option :model, type: :string, desc: "The model: each message becomes a row of it"
      class_option :topic, type: :string, desc: "The topic, by default NAME"
      class_option :group, type: :string,
                           desc: "The consumer group, by default that of the application and topic"

      SWARM = "config/skep.rb"
      BLOCK = /^Skep\.swarm\b.*?\bdo \|(?<swarm>\w+)\|.*?^end$/m
      CONSTANT = /\A\p{Upper}\w*(?:::\p{Upper}\w*)*\z/
      TOPIC = /\A[\w.-]{1,249}\z/
      private_constant :SWARM, :BLOCK, :CONSTANT, :TOPIC

      def check
        unless consumer.match?(CONSTANT)
          refuse("#{name} can't name a class: give a name such as orders, and --topic #{name}")
        end
        refuse("#{topic.inspect} isn't the name of a topic") unless topic.match?(TOPIC)
        unless model.nil? || model.match?(CONSTANT)
          refuse("#{model.inspect} isn't the name of a model: give one such as Order")
        end
        return if File.file?(File.join(destination_root, SWARM))

        refuse("there is no #{SWARM}: run `bin/rails generate skep:install` first")
      end

      def write_consumer
        template "consumer.rb.tt", path("app", "consumer.rb"), skip: true
      end

      def write_test
        unless minitest?
          return say_status(:skip, "the test: it would be Minitest's (docs/guides/testing.md)",
                            :yellow)
        end

        template "consumer_test.rb.tt", path("test", "consumer_test.rb"), skip: true
      end

      def add_to_swarm
        text = File.read(File.join(destination_root, SWARM))
        if text.match?(/^[^#\n]*(?<![:\w])#{consumer}\b/) # the generated file has one in a comment
          return say_status(:skip, "#{SWARM}: it has #{consumer}", :yellow)
        end

        found = text.match(BLOCK)
        return say("\nAdd this to #{SWARM}:\n\n#{work("swarm")}") unless found

        unless text.match?(%r{^require ["']skep/kafka["']})
          insert_into_file SWARM, "require \"skep/kafka\"\n\n", before: /^Skep\.swarm\b/
        end
        gsub_file(SWARM, BLOCK) do |block|
          "#{block.delete_suffix("end")}\n#{work(found[:swarm])}end"
        end
      end

      def say_what_is_next
        say "\nNext: bin/skep check #{SWARM}. Create the topics #{topic} and #{topic}.dead, or " \
            "let the brokers create them."
      end

      private

      def refuse(why) = raise(Thor::Error, why)
      def consumer = "#{class_name}Consumer"
      def topic = options[:topic] || file_name
      def group = options[:group] || "#{application}.#{topic}"
      def model = options[:model]
      def file_name = super.delete_suffix("_consumer")

      def path(folder, kind) = File.join(folder, "consumers", class_path, "#{file_name}_#{kind}")

      # Rails sets it to :test_unit, or a gem such as rspec-rails to its own.
      def minitest?
        framework = ::Rails::Generators.options.dig(:rails, :test_framework)
        framework ? framework.to_s == "test_unit" : Dir.exist?(File.join(destination_root, "test"))
      end

      def work(swarm)
        <<~RUBY.gsub(/^/, "  ")
          # A message that keeps failing goes to the topic #{topic}.dead.
          #{swarm}.work(Skep::Kafka::Source.new(
            kafka: Rails.configuration.skep.kafka, group: "#{group}", topics: "#{topic}",
            deserializer: :json, dead_letter_topic: "#{topic}.dead"
          )) { |batch, node| #{consumer}.new.call(batch, node) }
        RUBY
      end
    end
  end
end
