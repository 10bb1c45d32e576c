# frozen_string_literal: true

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
        message = error.message.lines.map(&:strip).join(" ")
        place = error.backtrace&.first
        what = "#{error.class}: #{message}#{" (#{place})" if place}"
        $stderr.write("skep: pid=#{Process.pid} #{who} raised #{what}\n")
      rescue IOError, SystemCallError
        nil # Stderr is closed or full.
      end

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
