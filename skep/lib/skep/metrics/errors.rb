# frozen_string_literal: true

module Skep
  # Why metrics can't be served.
  module Metrics
    # The gem that serves them isn't there, or is too old.
    class MissingGem < Skep::Error
      OLDEST = 6

      def initialize(found:)
        super("metrics need the gem puma, #{OLDEST} or newer, and there is #{found}: " \
              "add `gem \"puma\", \">= #{OLDEST}\"` to the Gemfile, or leave the option out")
      end

      def exit_code = ExitCode::CONFIGURATION
    end

    # The supervisor doesn't answer a scrape.
    class SupervisorTimeout < Skep::Error
      def initialize(seconds:) = super("the supervisor didn't answer within #{seconds.round} s")
    end
  end
end
