# frozen_string_literal: true

# In the place of a child's events, where there is no child: what is to be told goes to stderr.
#
#   StderrEvents.event(:kafka_not_delivered, level: :error, topic: "orders", count: 3)
module Skep
  module Kafka
    class Producer
      module StderrEvents
        LOUD = %i[warn error].freeze
        private_constant :LOUD

        def self.event(name, level: :info, **facts) #: (Symbol, ?level: Symbol, **untyped) -> void
          return unless LOUD.include?(level)

          warn("skep: #{name} #{facts.map { |key, value| "#{key}=#{value}" }.join(" ")}")
        end
      end
    end
  end
end
