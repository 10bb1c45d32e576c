# frozen_string_literal: true

require "skep/user_error"

module Skep
  module Fork
    # Reports an exception that has no caller, as one line on stderr.
    #
    #   Reporter.call(error, "the child callback of app.rb:12")
    #   Reporter.report(reporter, error, who)    # with a user's reporter
    #
    # Any object with this `call` can be passed as a `reporter`. Neither method raises a
    # StandardError.
    module Reporter
      def self.call(error, who)
        $stderr.write("skep: pid=#{Process.pid} #{who} raised #{describe(error)}\n")
      rescue IOError, SystemCallError
        nil # Stderr is closed or full.
      end

      # Returns class, message and place. The error's class is the user's: its methods may raise.
      def self.describe(error)
        message = error.message.lines.map(&:strip).join(" ")
        place = error.backtrace&.first
        "#{error.class}: #{message}#{" (#{place})" if place}"
      rescue UserError => e
        "an error whose message or backtrace raised #{e.class}"
      end
      private_class_method :describe

      # Calls the reporter; if that raises, reports both errors on stderr.
      def self.report(reporter, error, who)
        reporter.call(error, who)
      rescue StandardError => failure # The reporter is the user's.
        call(error, who)
        call(failure, "the reporter of #{who}")
      end
    end
  end
end
