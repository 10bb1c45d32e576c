# frozen_string_literal: true

# What an exception of the user's says, in any encoding, and even if it can't say it.
#
#   ErrorText.of(error)    # => "IOError: no idea"
module Skep
  module Kafka
    module Metrics
      module ErrorText
        def self.of(error) #: (Exception) -> String
          text = error.message.to_s
          text = text.encode(Encoding::UTF_8) unless text.encoding.ascii_compatible?
          (error.class.to_s.b << ": " << text.b).force_encoding(Encoding::UTF_8).scrub("?")
        rescue StandardError => e # the user's, in `message`
          "#{error.class}, whose message raised #{e.class}"
        end
      end
    end
  end
end
