# frozen_string_literal: true

module Skep
  class Web
    module Auth
      # A visitor's session, as a cookie describes it, and what the visitor may do.
      #
      #   session.reads?
      #   session.acts?               # may this visitor use the buttons?
      #   session.authorize(token)    # before an action; raises RequestRefused
      #
      # The token proves that our own page sent a request: another site's page can't read it.
      class Session
        SECONDS = 12 * 3600
        private_constant :SECONDS

        # Returns what the cookie of a new session contains. user: nil before a login.
        def self.facts(user = nil, now: OS.now)
          { "id" => SecureRandom.hex(16), "user" => user, "token" => SecureRandom.hex(32),
            "expires_at" => (now + SECONDS).round }
        end

        attr_reader :facts
        attr_reader :name # of the visitor, for people; nil: there is no log-in

        def initialize(facts, reads:, acts:, name: nil, new: false)
          @facts = facts
          @reads = reads
          @acts = acts
          @name = name
          @new = new
        end

        def id = facts["id"]
        def user = facts["user"]
        def token = facts["token"]
        def expires_at = facts["expires_at"]
        def reads? = @reads
        def acts? = @acts

        # Returns true if the browser doesn't have the cookie yet.
        def new? = @new

        def authorize(token)
          acts? or raise RequestRefused.new(403, "this page is read-only")
          verify(token)
        end

        def verify(token)
          OpenSSL.secure_compare(self.token, token.to_s) or
            raise RequestRefused.new(403, "this page is too old: load it again")
        end
      end
    end
  end
end
