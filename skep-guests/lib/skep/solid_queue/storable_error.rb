# frozen_string_literal: true

module Skep
  class SolidQueue < Guest
    # Solid Queue stores the error of a failed job as JSON. If its message isn't UTF-8, or raises,
    # that fails: the job stays claimed and its worker ends, so that the next one would run the job
    # again, for ever.
    module StorableError
      class << self
        # Gives the error a message in UTF-8, if it has none.
        def make(error)
          return if error.frozen? || storable?(error)

          text = Swarm::IPC::PlainData.message(error)
          error.define_singleton_method(:message) { text }
        end

        private

        def storable?(error)
          message = error.message
          message.encoding == Encoding::UTF_8 && message.valid_encoding?
        rescue UserError # of its own method
          false
        end
      end
    end
  end
end
