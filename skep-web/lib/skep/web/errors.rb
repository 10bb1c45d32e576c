# frozen_string_literal: true

# The errors of Skep::Web.
module Skep
  class Web
    # Gems that the page needs can't be loaded, or are too old.
    class MissingGem < Skep::Error
      GEMS = { "rack" => "3", "rack-session" => "2" }.freeze # the oldest version of each
      private_constant :GEMS

      attr_reader :error # why they can't be loaded

      # needs: what needs them; also: other gems that it needs, with their oldest version.
      def initialize(error:, needs: "skep/web", also: {}, gems: { **also, **GEMS })
        @error = error
        *names, last = gems.map { |name, version| "#{name} (#{version} or newer)" }
        words = names.any? ? "gems #{names.join(", ")} and #{last}" : "gem #{last}"
        super("#{needs} needs the #{words} (#{error}): " \
              "run `gem install #{gems.keys.join(" ")}`, or add them to the Gemfile")
      end
    end

    # The request is answered with an HTTP status that isn't a success, and a sentence.
    class RequestRefused < Skep::Error
      attr_reader :status

      def initialize(status, sentence)
        @status = status
        super(sentence)
      end
    end
  end
end
