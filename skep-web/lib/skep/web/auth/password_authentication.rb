# frozen_string_literal: true

module Skep
  class Web
    module Auth
      # One user, who logs in with a password. Sessions end after twelve hours or at a log-out.
      #
      # Wrong passwords are counted for a name from an address. A browser in which the user has
      # logged in before has a count of its own: others at the same address, or behind the same
      # proxy, can't lock that user out.
      class PasswordAuthentication < Authentication
        BROWSER_SECONDS = 90 * 86_400
        NAME_LIMIT = 256 # characters
        private_constant :BROWSER_SECONDS, :NAME_LIMIT

        def initialize(key, user, password)
          super(key)
          @user = user
          @password = password
          @browser_cookie = SignedCookie.new("known_skep_web", key, purpose: "known browser",
                                                                    max_age: BROWSER_SECONDS)
          @throttle = LoginThrottle.new
          @lock = Mutex.new
          @ended = {}
        end

        def login(request, session)
          session.verify(request.form["token"])
          user = request.form["user"].to_s
          key = throttle_key(request, user)
          return ask_again(request, session, 429) if @throttle.exhausted?(key, OS.now)
          return welcome(request) if matches?(user, request.form["password"].to_s)

          @throttle.failed(key, OS.now)
          ask_again(request, session, 401)
        end

        def logout(request, session)
          session.verify(request.form["token"])
          revoke(session)
          @on_logout&.call(session.id)
          HTTP::Response.redirect_to(request.base).tap do |response|
            @cookie.delete(request, response)
          end
        end

        def set_cookies(request, response, session)
          super
          return if session.name.nil? || browser_of(request, session.name)

          @browser_cookie.write(request, response, { "id" => SecureRandom.hex(16),
                                                     "user" => session.name })
        end

        private

        def with_rights(_request, facts, new:)
          known = facts["user"] == @user
          Session.new(facts, reads: known, acts: known, name: facts["user"], new:)
        end

        def valid?(facts) = super && @lock.synchronize { !@ended.key?(facts["id"]) }

        def revoke(session)
          @lock.synchronize do
            @ended.delete_if { |_, expires_at| expires_at < OS.now }
            @ended[session.id] = session.expires_at
          end
        end

        def throttle_key(request, user)
          browser = browser_of(request, user)
          browser ? [:browser, browser] : [request.client_address, user[0, NAME_LIMIT]]
        end

        # Returns the browser's id if this user has logged in with it before.
        def browser_of(request, user)
          facts = @browser_cookie.read(request)
          facts["id"] if facts && facts["user"] == user
        end

        # Compares both, however wrong the first is, in constant time.
        def matches?(user, password)
          [OpenSSL.secure_compare(user, @user),
           OpenSSL.secure_compare(password, @password)].all?
        end

        def welcome(request)
          HTTP::Response.redirect_to(request.base).tap do |response|
            @cookie.write(request, response, Session.facts(@user))
          end
        end

        def ask_again(request, session, status)
          message = status == 401 ? "Wrong name or password." : "Too many attempts: wait a minute."
          HTTP::Templates.login(request, session, status:, message:).tap do |response|
            set_cookies(request, response, session)
          end
        end
      end
    end
  end
end
