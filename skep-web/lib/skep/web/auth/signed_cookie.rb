# frozen_string_literal: true

require "openssl"
require "securerandom"

module Skep
  class Web
    module Auth
      # A cookie that only this server can read and write: rack-session encrypts and signs it.
      #
      #   cookie = SignedCookie.new("skep_web", SignedCookie.key("secret"), purpose: "session")
      #   cookie.write(request, response, { "user" => "ada" })
      #   cookie.read(request)              # => {"user" => "ada"}; nil: none, or not one of skep's
      #   cookie.delete(request, response)
      class SignedCookie
        BOOT = "/proc/sys/kernel/random/boot_id"
        private_constant :BOOT

        # Returns the key of cookies. Times in them are of the clock that starts with the host, so
        # a key holds until the next boot.
        def self.key(secret)
          boot = File.readable?(BOOT) ? File.read(BOOT) : SecureRandom.hex
          OpenSSL::HMAC.digest("SHA512", secret || SecureRandom.hex(32), "skep web #{boot}")
        end

        # max_age: seconds; nil: until the browser closes.
        def initialize(name, key, purpose:, max_age: nil)
          @name = name
          @max_age = max_age
          @encryptor = Rack::Session::Encryptor.new(key, serialize_json: true, purpose:)
        end

        def inspect = "#<#{self.class} #{@name}>" # without the key

        def read(request)
          value = request.cookies[name(request)]
          value && @encryptor.decrypt(value)
        rescue Rack::Session::Encryptor::Error # another server's, or forged
          nil
        end

        def write(request, response, facts)
          response.set_cookie(name(request), { **attributes(request), max_age: @max_age,
                                               value: @encryptor.encrypt(facts) }.compact)
        end

        def delete(request, response)
          response.delete_cookie(name(request), attributes(request))
        end

        private

        def name(request) = "#{@name}#{request.explicit_port}"

        def attributes(request)
          { path: request.base.chomp("/").then { |path| path.empty? ? "/" : path },
            httponly: true, same_site: :lax, secure: request.ssl? }
        end
      end
    end
  end
end
