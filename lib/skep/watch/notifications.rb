# frozen_string_literal: true

# Events for who listens to ActiveSupport::Notifications, if the application has that loaded: each
# as NAME.skep, with its facts as the payload, in the helper process.
#
#   ActiveSupport::Notifications.subscribe("node_died.skep") { |event| … event.payload[:node] }
#
# Whether anybody listens is looked at once, in the mold: to a pattern, or to an event of skep's.
module Skep
  module Watch
    module Notifications
      module_function

      def wanted? #: () -> bool
        return false unless defined?(::ActiveSupport::Notifications)

        notifier = ::ActiveSupport::Notifications.notifier
        Events::NAMES.any? { |name| notifier.listening?("#{name}.skep") }
      end

      def tell(name, facts) #: (String, Hash[String, untyped]) -> void
        return unless defined?(::ActiveSupport::Notifications)

        ::ActiveSupport::Notifications.instrument("#{name}.skep", facts.transform_keys(&:to_sym))
      end
    end
  end
end
