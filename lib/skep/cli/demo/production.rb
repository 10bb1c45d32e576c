# frozen_string_literal: true

# Fills the topic, on a thread of its own, never further than it is allowed.
#
#   production = Production.new(plan, brokers)
#   production.allow(5_000)
#   production.finished?    # everything has arrived
#   production.error        # why it ended early, nil while all is well
#   production.close
module Skep
  module CLI
    class Demo
      class Production
        # A retry puts no message twice into the topic.
        SETTINGS = { "enable.idempotence" => true, "linger.ms" => 5 }.freeze
        SECONDS = 5.0 # how long a close waits
        private_constant :SETTINGS, :SECONDS

        attr_reader :error #: Exception?

        def initialize(plan, brokers) #: (Plan, Brokers) -> void
          @plan = plan
          @brokers = brokers
          @allowed = 0
          @thread = Threads::Background.new("demo.production", drain: 0) { |inbox| produce(inbox) }
        end

        def allow(count) #: (Integer) -> void
          return unless count > @allowed && @error.nil?

          @allowed = count
          @thread.push(count)
        end

        def finished? = @arrived == @plan.messages #: () -> bool

        # How many messages the broker has; those on their way count too until it has answered.
        def produced = @arrived || @orders&.made || 0 #: () -> Integer

        def close = @thread.close(timeout: SECONDS) #: () -> bool

        private

        def produce(inbox)
          feed = Kafka::Testing::TopicSeeder.new(@brokers.bootstrap, @brokers.topic,
                                                 kafka: SETTINGS)
          @orders = Orders.new(@plan.messages, inbox)
          @arrived = feed.publish(@orders)
        rescue Orders::Stopped # by close: nobody waits for what is on its way
          nil
        rescue StandardError => e # for the demo to tell; raised, it would be tried again
          @error = e
        ensure
          feed&.close
        end
      end
      private_constant :Production
    end
  end
end
