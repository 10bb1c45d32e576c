# frozen_string_literal: true

# What a handler's error may be, so that its message isn't tried again: where there is a dead letter
# topic it goes there at once.
#
#   class NoOrder < StandardError
#     include Skep::Kafka::Final
#   end
#
#   raise error.extend(Skep::Kafka::Final)   # the same of an error of somebody else's
module Skep
  module Kafka
    # An error that includes it isn't tried again.
    module Final
    end
  end
end
