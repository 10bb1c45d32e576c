# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Tokens for the login OAUTHBEARER. The scenario tokens_are_renewed_in_time has a broker that
    # requires them.
    class OAuthLoginTest < ::KafkaCase
      Token = Librdkafka::OAuthLogin::Token
      private_constant :Token

      test "takes the expiry and the principal from a JWT" do
        token = Token.of(jwt({ sub: "billing", exp: 1_800_000_000 }))

        assert_equal [1_800_000_000_000, "billing", []],
                     [token.expires_at, token.principal, token.pairs]
      end

      test "a JWT of an issuer whose clock is ahead lives no longer than it was issued for" do
        now = 1_800_000_000
        expiry = ->(**claims) { Token.expiry(claims.transform_keys(&:to_s), now:) }

        assert_equal now + 300, expiry.call(iat: now + 500, exp: now + 800)
        assert_equal now + 200, expiry.call(iat: now - 100, exp: now + 200)
        assert_equal now + 800, expiry.call(exp: now + 800)
        assert_equal now + 800, expiry.call(iat: "now", exp: now + 800)
        assert_equal now + 800, expiry.call(iat: now + 900, exp: now + 800)
        soon = Token.of(jwt({ iat: Time.now.to_i + 5_000, exp: Time.now.to_i + 5_060 })).expires_at
        assert_operator soon / 1000.0 - Time.now.to_f, :<=, 60
      end

      test "values of a Hash override the claims of its JWT" do
        token = Token.of({ token: jwt({ sub: "a", exp: 1 }), expires_at: Time.at(2.5),
                           principal: "b", extensions: { region: "eu" } })

        assert_equal [2500, "b", %w[region eu]], [token.expires_at, token.principal, token.pairs]
      end

      test "rejects a value that isn't a token, and a token without an expiry" do
        { nil => "must return a token", { token: 7 } => "must return a token",
          "opaque" => "when its token expires", "a.b.c" => "when its token expires",
          jwt([1]) => "when its token expires",
          { token: "opaque", expires_at: "soon" } => "when its token" }.each do |given, text|
          error = assert_raises(ArgumentError) { Token.of(given) }

          assert_includes error.message, text
        end
      end

      test "a boot without a token fails after connect_timeout, with exit code 75" do
        broker(orders: 1)
        calls = 0
        oauth = lambda do
          calls += 1
          raise IOError, "no token service"
        end
        error = assert_raises(BrokerUnreachable) do
          kafka = @broker.settings.merge("security.protocol" => "sasl_plaintext")
          play({ oauth:, connect_timeout: Patience.of(1.0), kafka: }) { flunk }
        end

        assert_equal 75, error.exit_code
        assert_includes error.message, "no token service"
        assert_equal 1, calls
      end

      test "rejects an invalid oauth option, and OAUTHBEARER without one" do
        { { oauth: 7 } => "must be a callable",
          { oauth: -> {}, kafka: { "sasl.mechanism": "PLAIN" } } => "oauth needs sasl.mechanism",
          { kafka: { "sasl.mechanism": "OAUTHBEARER" } } => "needs tokens" }.each do |given, text|
          assert_includes source(**given).errors.join(" "), text
        end
        assert_empty source(oauth: -> {}).errors
        assert_empty source(oauth: -> {}, kafka: { "sasl.mechanism": "OAUTHBEARER" }).errors
      end

      test "the settings of all clients have the callable, and facts only show that it is given" do
        oauth = -> {}
        options = source(oauth:).__options
        settings = options.settings

        assert_same oauth, settings.producer["oauth"]
        assert_same oauth, settings.admin("g")["oauth"]
        assert_same oauth, settings.with({ "acks" => "all" }).to_h["oauth"]
        assert_equal %w[sasl_ssl OAUTHBEARER],
                     settings.to_h.values_at("security.protocol", "sasl.mechanisms")
        assert_equal "given", options.facts[:oauth]
      end

      private

      def source(kafka: {}, **more)
        Source.new(kafka: { "bootstrap.servers": "none", **kafka }, group: "g", topics: "t", **more)
      end

      def jwt(claims)
        parts = [{ alg: "none" }, claims].map do |part|
          [JSON.generate(part)].pack("m0").tr("+/", "-_").delete("=")
        end
        "#{parts.join(".")}."
      end
    end
  end
end
