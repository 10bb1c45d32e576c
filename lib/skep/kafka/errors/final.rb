# frozen_string_literal: true

# What a handler's error may be, so that its message isn't tried again: where there is a dead letter
# topic it goes there at once.
#
#   class NoOrder < StandardError
#     include Skep::Kafka::NonRetryable
#   end
#
#   raise error.extend(Skep::Kafka::NonRetryable)   # the same of an error of somebody else's
module Skep
  module Kafka
    # An error that includes it isn't tried again.
    module NonRetryable
    end
  end
end
