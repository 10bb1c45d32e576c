# frozen_string_literal: true

require "json"
require "openssl"
require "securerandom"

module Skep
  module Watch
    class Web
      # What a browser carries to be known again: a signed cookie, and a token that a page of ours
      # has and another site's doesn't. Only those that were revoked are kept here.
      #
      #   badge = badges.issue("ada")        # nil: one for who hasn't logged in
      #   badges.read(badge.cookie)          # => the badge; nil: it isn't one of ours, or too old
      #   badges.proves?(badge, token)
      #   badges.revoke(badge)               # from here on it is none of ours
      #   badges.known("ada")                # for a browser in which ada has logged in
      #   badges.known?(cookie, "ada")
      #
      # It holds by the clock that begins at the host's boot, and so only until the next boot.
      class Badges
        SECONDS = 12 * 3600
        BOOT = "/proc/sys/kernel/random/boot_id"
        private_constant :SECONDS, :BOOT

        Badge = Struct.new(:user, :cookie, :token)

        def initialize(secret) #: (String?) -> void
          boot = File.readable?(BOOT) ? File.read(BOOT) : SecureRandom.hex
          @lock = Mutex.new
          @revoked = {}
          @key = OpenSSL::HMAC.digest("SHA256", secret || SecureRandom.hex(32), "skep web #{boot}")
        end

        def issue(user) #: (String?) -> Badge
          facts = JSON.generate([SecureRandom.hex(16), user, (OS.now + SECONDS).round])
          payload = [facts].pack("m0").tr("+/=", "-_.")
          Badge.new(user, "#{payload}~#{sign("cookie", payload)}", sign("token", payload))
        end

        def read(cookie) #: (String?) -> Badge?
          payload, signature = cookie.to_s.split("~", 2)
          return unless signature && OpenSSL.secure_compare(signature, sign("cookie", payload))

          _, user, ends = JSON.parse(payload.tr("-_.", "+/=").unpack1("m0").force_encoding("UTF-8"))
          return if OS.now >= ends || @lock.synchronize { @revoked.key?(cookie) }

          Badge.new(user, cookie, sign("token", payload))
        end

        def revoke(badge) #: (Badge) -> void
          @lock.synchronize do
            @revoked.delete_if { |_, ends| ends < OS.now }
            @revoked[badge.cookie] = OS.now + SECONDS
          end
        end

        # It lets nobody in: wrong passwords from this browser are counted by themselves.
        def known(user) #: (String) -> String
          id = SecureRandom.hex(16)
          "#{id}~#{sign("known", [id, user].join(" "))}"
        end

        def known?(cookie, user) #: (String?, String) -> bool
          id, signature = cookie.to_s.split("~", 2)
          !signature.nil? &&
            OpenSSL.secure_compare(signature, sign("known", [id, user].join(" ")))
        end

        def proves?(badge, token) #: (Badge, String?) -> bool
          OpenSSL.secure_compare(badge.token, token.to_s)
        end

        private

        def sign(what, payload) = OpenSSL::HMAC.hexdigest("SHA256", @key, "#{what} #{payload}")
      end
      private_constant :Badges
    end
  end
end
