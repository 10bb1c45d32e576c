# frozen_string_literal: true

# The errors of Skep::Web.
module Skep
  class Web
    # The page's gems can't be loaded, or are too old.
    class MissingGem < Skep::Error
      GEMS = { "rack" => "3", "rack-session" => "2" }.freeze # the oldest version of each
      private_constant :GEMS

      attr_reader :error # why they can't be loaded

      # needs: what needs them; also: other gems that it needs, with their oldest version.
      def initialize(error:, needs: "skep/web", also: {})
        @error = error
        gems = { **also, **GEMS }
        names = gems.map { |name, version| "#{name} (#{version} or newer)" }
        super("#{needs} needs the gems #{names[..-2].join(", ")} and #{names.last} (#{error}): " \
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
