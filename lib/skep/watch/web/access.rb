# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # Who may look and who may act: everybody and nobody; or both only who knows a password; or
      # the application that the page is mounted in says who may act.
      #
      #   access = Access.for(badges, "ada", "secret", nil)
      #   access.visitor(request)   # => Visitor
      #   access.login(request, visitor)
      class Access
        #: (Badges, String?, String?, Proc?) -> Access
        def self.for(badges, user, password, who)
          given = [user, password].compact
          raise ArgumentError, "give user: and password:, or neither" if given.one?
          raise ArgumentError, "the password is empty" if password&.empty?

          given.any? ? Password.new(badges, user, password) : new(badges, who)
        end

        # Browsers keep one jar for all ports of a host.
        def self.cookie(request) #: (Request) -> String
          "skep_web#{request.host[/:(\d+)\z/, 1]}"
        end

        #: (Request, String, ?name: String, ?seconds: Integer?) -> Hash[String, String]
        def self.set_cookie(request, value, name: "", seconds: nil)
          secure = "; Secure" if request.secure?
          path = request.script.empty? ? "/" : request.script
          age = "; Max-Age=#{seconds}" if seconds
          { "set-cookie" => "#{name}#{cookie(request)}=#{value}; Path=#{path}#{age}; HttpOnly; " \
                            "SameSite=Lax#{secure}" }
        end

        def initialize(badges, who = nil) #: (Badges, ?Proc?) -> void
          @badges = badges
          @who = who
        end

        def visitor(request) #: (Request) -> Visitor
          badge = @badges.read(request.cookie(Access.cookie(request)))
          rights(request, badge || @badges.issue(nil), badge.nil?)
        end

        # A cookie for a browser in which somebody has just logged in.
        def remember(_request, _visitor) = {} #: (Request, Visitor) -> Hash[String, String]

        # The block is called with the cookie of who logs out.
        def left(&left) = @left = left #: () { (String) -> void } -> void

        def login(_request, _visitor) = none #: (Request, Visitor) -> untyped
        def logout(_request, _visitor) = none #: (Request, Visitor) -> untyped

        private

        def none = raise Refused.new(404, "nobody logs in here")

        def rights(request, badge, new)
          who = @who&.call(request.env)
          name = who.to_s[0, 80] if who && who != true
          Visitor.new(@badges, badge, reads: true, acts: who ? true : false, name:, new:)
        end

        # One user with a password, and a form to tell them in.
        class Password < Access
          KNOWN = "known_" # before the name of the cookie
          MONTHS = 90 * 86_400
          LONGEST = 256 # of a name
          private_constant :KNOWN, :MONTHS, :LONGEST

          def initialize(badges, user, password) #: (Badges, String, String) -> void
            super(badges)
            @user = user
            @password = password
            @attempts = Attempts.new
          end

          def login(request, visitor) #: (Request, Visitor) -> untyped
            form = request.form
            visitor.shows(form["token"])
            user = form["user"].to_s
            place = place(request, user)
            return again(request, visitor, 429) if @attempts.spent?(place, OS.now)
            return welcome(request) if known?(user, form["password"].to_s)

            @attempts.wrong(place, OS.now)
            again(request, visitor, 401)
          end

          def remember(request, visitor) #: (Request, Visitor) -> Hash[String, String]
            return {} if visitor.name.nil? || @badges.known?(known(request), visitor.name)

            Access.set_cookie(request, @badges.known(visitor.name), name: KNOWN, seconds: MONTHS)
          end

          def logout(request, visitor) #: (Request, Visitor) -> untyped
            visitor.shows(request.form["token"])
            @badges.revoke(visitor.badge)
            @left.call(visitor.badge.cookie)
            Reply.see("#{request.script}/", Access.set_cookie(request, ""))
          end

          private

          def rights(_request, badge, new)
            known = badge.user == @user
            Visitor.new(@badges, badge, reads: known, acts: known, name: badge.user, new:)
          end

          # Where wrong passwords are counted: for a name from an address; but a browser in which
          # that user has logged in before has a count of its own, so that nobody who shares his
          # address, or a proxy, can keep him out.
          def place(request, user)
            known = known(request)
            @badges.known?(known, user) ? [:known, known] : [request.address, user[0, LONGEST]]
          end

          def known(request) = request.cookie(KNOWN + Access.cookie(request))

          # Both are compared, however wrong the first is, in a time that tells nothing.
          def known?(user, password)
            [OpenSSL.secure_compare(user, @user),
             OpenSSL.secure_compare(password, @password)].all?
          end

          def welcome(request)
            Reply.see("#{request.script}/", Access.set_cookie(request, @badges.issue(@user).cookie))
          end

          def again(request, visitor, status)
            message = status == 401 ? "That isn't right." : "Too many tries: wait a minute."
            Shell.login(request, visitor, status:, message:)
          end
        end
        private_constant :Password
      end
      private_constant :Access
    end
  end
end
