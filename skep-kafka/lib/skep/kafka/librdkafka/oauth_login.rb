# frozen_string_literal: true

require "json"

# Gives a client the tokens of the login OAUTHBEARER: the first one at its start, and each other
# before the last one expires. A thread of its own calls the user's callable, as that may take long.
#
#   login = OAuthLogin.new(handle, -> { fetch_token })
#   login.close(1.0)    # seconds that the callable may still take
#
# The callable returns a JWT (a String), whose claims say when it expires and whose it is, or a Hash
# with `token`, `expires_at` (a Time, or seconds since 1970), and if need be `principal` and
# `extensions` (a Hash of Strings). If it raises, librdkafka reports an error, and it is called
# again 10 s later.
module Skep
  module Kafka
    module Librdkafka
      class OAuthLogin
        # librdkafka's error text begins so if there is no token.
        FAILED = "Failed to acquire SASL OAUTHBEARER token"

        # expires_at: milliseconds since 1970.
        Token = Struct.new(:text, :expires_at, :principal, :extensions, keyword_init: true) do
          # Returns a Token of what the callable has returned. Raises ArgumentError.
          def self.of(given)
            given = { token: given } unless given.is_a?(Hash)
            token, expires_at, principal, extensions =
              given.values_at(:token, :expires_at, :principal, :extensions)
            unless token.is_a?(String)
              raise ArgumentError, "oauth: must return a token, a String or a Hash with `token` " \
                                   "(got #{token.class})"
            end

            claims = claims(token)
            new(text: token, expires_at: milliseconds(expires_at || expiry(claims)),
                principal: principal || claims["sub"] || "", extensions: extensions.to_h)
          end

          # Returns the claims of a JWT, without checking its signature; {} for any other token.
          def self.claims(token)
            claims = JSON.parse(token.split(".")[1].to_s.tr("-_", "+/").unpack1("m"))
            claims.is_a?(Hash) ? claims : {}
          rescue JSON::ParserError # not a JWT
            {}
          end

          # When a JWT expires. `exp` and `iat` are from the issuer's clock, so their difference is
          # exact. If that clock is ahead of this host's, `exp` alone would be too late: a token
          # lives no longer from now than it was issued for.
          def self.expiry(claims, now: Time.now.to_f)
            expires, issued = claims.values_at("exp", "iat")
            exact = [expires, issued].all?(Numeric) && expires > issued
            exact ? [expires, now + expires - issued].min : expires
          end

          def self.milliseconds(time)
            return (time.to_r * 1000).to_i if time.is_a?(Time) || time.is_a?(Numeric)

            raise ArgumentError, "oauth: must say when its token expires: return a JWT with " \
                                 "`exp`, or a Hash with `token` and `expires_at`"
          end

          def pairs = extensions.flat_map { |name, value| [name.to_s, value.to_s] }
        end

        # The client's handle must have been made with a SASL queue and its events.
        def initialize(handle, callable)
          @handle, @callable = handle, callable
          @queue = EventQueue.new(Bindings.queue_get_sasl(handle))
          @wake, @waker = OS.pipe
          @thread = Threads::Background.new("kafka.oauth", restart: :never) { run }
        end

        # Waits so many seconds for a callable that hasn't returned. Returns false if that is still
        # running, which then may not use the handle.
        def close(seconds)
          @waker.close
          @thread.close(timeout: seconds).tap { |ended| [@queue, @wake].each(&:close) if ended }
        end

        def inspect = "#<Skep::Kafka::Librdkafka::OAuthLogin>"

        private

        def run
          Kernel.loop do
            @queue.drain { |event| refresh if event.kind == :token_refresh }
            readable, = IO.select([@queue.io, @wake])
            break if readable.include?(@wake)
          end
        end

        def refresh
          token = Token.of(@callable.call)
          return if @waker.closed?

          code, text = set(token)
          raise ArgumentError, "librdkafka rejected the token of oauth: (#{text})" unless code.zero?
        rescue Exception => e # the user's: without an answer librdkafka would never ask again
          error = "#{e.class}: ".b << e.message.to_s.b.delete("\0")
          Bindings.oauthbearer_set_token_failure(@handle, error) unless @waker.closed?
        end

        def set(token)
          texts = token.pairs.map { |text| FFI::MemoryPointer.from_string(text) }
          array = FFI::MemoryPointer.new(:pointer, [texts.size, 1].max)
          array.write_array_of_pointer(texts)
          Bindings.with_error_buffer do |buffer, size|
            Bindings.oauthbearer_set_token(@handle, token.text, token.expires_at, token.principal,
                                           array, texts.size, buffer, size)
          end
        end
      end
    end
  end
end
