# frozen_string_literal: true

# Passes each event to ActiveSupport::Notifications, if the application has loaded it: as NAME.skep,
# with its facts as the payload, in the helper process.
#
#   ActiveSupport::Notifications.subscribe("node_died.skep") { |event| … event.payload[:node] }
#
# The mold looks once for subscribers: to a pattern, or to one of skep's events.
module Skep
  module Log
    module ActiveSupportBridge
      module_function

      def wanted?
        return false unless defined?(::ActiveSupport::Notifications)

        notifier = ::ActiveSupport::Notifications.notifier
        EventCatalog.names.any? { |name| notifier.listening?("#{name}.skep") }
      end

      # Writes an event as a line to a Logger.
      def log(logger, name, level, facts)
        facts = Redaction.of(facts.transform_keys(&:to_sym))
        severity = { "debug" => 0, "info" => 1, "warn" => 2, "error" => 3 }.fetch(level.to_s, 1)
        logger.add(severity, TextFormatter.message(name, facts), "skep")
      end

      def report(name, facts)
        return unless defined?(::ActiveSupport::Notifications)

        ::ActiveSupport::Notifications.instrument("#{name}.skep", facts.transform_keys(&:to_sym))
      end
    end
  end
end
