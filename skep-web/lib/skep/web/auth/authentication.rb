# frozen_string_literal: true

module Skep
  class Web
    module Auth
      # Decides which visitors may read the page, and which may act. Without a password all may
      # read, and the block of the mounting application decides which may act. With a password, only
      # its user may do either.
      #
      #   authentication = Authentication.for(secret: nil, user: "ada", password: "…")
      #   session = authentication.session(request)
      #   authentication.set_cookies(request, response, session)
      #   authentication.login(request, session)     # => a Response
      class Authentication
        def self.for(secret:, user: nil, password: nil, authorizer: nil)
          given = [user, password].compact
          raise ArgumentError, "give user: and password:, or neither" if given.one?
          raise ArgumentError, "the password is empty" if password&.empty?

          key = SignedCookie.key(secret)
          given.any? ? PasswordAuthentication.new(key, user, password) : new(key, authorizer)
        end

        def initialize(key, authorizer = nil)
          @cookie = SignedCookie.new("skep_web", key, purpose: "session")
          @authorizer = authorizer
        end

        def session(request)
          facts = @cookie.read(request)
          valid = facts && valid?(facts)
          with_rights(request, valid ? facts : Session.facts, new: !valid)
        end

        # Sets the cookies that the visitor's browser lacks.
        def set_cookies(request, response, session)
          @cookie.write(request, response, session.facts) if session.new?
        end

        def login(_request, _session) = refuse_login
        def logout(_request, _session) = refuse_login

        # The block is called with the id of each session that ends by a log-out.
        def on_logout(&block) = @on_logout = block

        def inspect = "#<#{self.class}>" # without the password

        private

        def refuse_login = raise RequestRefused.new(404, "this page has no login")
        def valid?(facts) = OS.now < facts["expires_at"]

        # The application's text, in UTF-8 and in one line.
        def plain(name)
          name.dup.force_encoding(Encoding::UTF_8).scrub.gsub(/[[:cntrl:]]/, " ")[0, 80]
        end

        def with_rights(request, facts, new:)
          visitor = @authorizer&.call(request.env)
          name = plain(visitor.to_s) if visitor && visitor != true
          Session.new(facts, reads: true, acts: visitor ? true : false, name:, new:)
        end
      end
    end
  end
end
