# frozen_string_literal: true

module Skep
  module Fork
    # Tells of an exception that nobody else will see, on one line of stderr.
    #
    #   Reporter.call(error, "the child callback of app.rb:12")
    #   Reporter.tell(reporter, error, who)    # by a reporter of the user's
    #
    # Anything with this `call` can take its place wherever skep takes a `reporter`. Neither raises
    # a StandardError.
    module Reporter
      #: (Exception error, String who) -> void
      def self.call(error, who)
        message = error.message.lines.map(&:strip).join(" ")
        place = error.backtrace&.first
        what = "#{error.class}: #{message}#{" (#{place})" if place}"
        $stderr.write("skep: pid=#{Process.pid} #{who} raised #{what}\n")
      rescue IOError, SystemCallError
        nil # A stderr that is closed or full has nobody to tell.
      end

      # Falls back on ours when the reporter itself raises: nothing is lost.
      #
      #: (untyped reporter, Exception error, String who) -> void
      def self.tell(reporter, error, who)
        reporter.call(error, who)
      rescue StandardError => failure # The reporter may be anybody's.
        call(error, who)
        call(failure, "the reporter of #{who}")
      end
    end
  end
end
