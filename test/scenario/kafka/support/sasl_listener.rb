# frozen_string_literal: true

require "json"
require "rdkafka"

# A second listener of a broker, with SASL. Its user "reader", with the password "tiger-lily", needs
# a grant for everything. Clients of the first listener need no login and may do anything, as the
# broker connects to itself there.
#
#   listener = SaslListener.new(broker)               # restarts the broker
#   listener = SaslListener.new(broker, session: 5)   # OAUTHBEARER, with a new token each 5 s
#   SaslListener.token("reader", 30)                  # a token that is valid for 30 s
#   listener.login                                    # librdkafka's settings for its clients
#   listener.grant(SaslListener::TOPIC, "orders")
#   listener.grant(SaslListener::TOPIC, "dead", SaslListener::WRITE)
#   listener.revoke(SaslListener::TOPIC, "orders")
class SaslListener
  TOPIC, GROUP = 2, 3 # rd_kafka_ResourceType_t
  READ, WRITE, DESCRIBE = 3, 4, 8 # rd_kafka_AclOperation_t
  PREFIXED, ALLOW, SECONDS = 3, 3, 15
  # The resource's name is a prefix.
  RULE = { resource_pattern_type: PREFIXED, principal: "User:reader", host: "*",
           permission_type: ALLOW }.freeze
  private_constant :PREFIXED, :ALLOW, :SECONDS, :RULE

  attr_reader :address

  # Returns an unsecured JWT, which a broker without a configured validator accepts.
  def self.token(user, seconds)
    claims = { sub: user, iat: Time.now.to_i, exp: Time.now.to_f + seconds }
    parts = [{ alg: "none" }, claims].map do |part|
      [JSON.generate(part)].pack("m0").tr("+/", "-_").delete("=")
    end
    "#{parts.join(".")}."
  end

  def initialize(broker, session: nil)
    @broker = broker
    @session = session
    @address = "127.0.0.1:#{broker.port + 2}"
    broker.reconfigure { |properties| with_listener(properties) }
  end

  def login
    { "bootstrap.servers" => address, "security.protocol" => "sasl_plaintext",
      "sasl.mechanism" => "PLAIN", "sasl.username" => "reader",
      "sasl.password" => "tiger-lily" }
  end

  def grant(type, name, operation = READ) = change(:create_acl, type, name, operation)
  def revoke(type, name, operation = READ) = change(:delete_acl, type, name, operation)

  private

  def with_listener(properties)
    more = { "listeners" => "SASL_PLAINTEXT://#{address}",
             "advertised.listeners" => "SASL_PLAINTEXT://#{address}",
             "listener.security.protocol.map" => "SASL_PLAINTEXT:SASL_PLAINTEXT" }
    more.each { |name, value| properties = properties.sub(/^#{name}=.*/) { "#{_1},#{value}" } }
    properties + (@session ? oauth_settings : password_settings)
  end

  def oauth_settings
    <<~MORE
      sasl.enabled.mechanisms=OAUTHBEARER
      listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=\
      org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
      unsecuredLoginStringClaim_sub="broker";
      listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms=#{@session * 1000}
    MORE
  end

  def password_settings
    <<~MORE
      sasl.enabled.mechanisms=PLAIN
      listener.name.sasl_plaintext.plain.sasl.jaas.config=\
      org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="tiger-lily";
      authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
      super.users=User:ANONYMOUS
    MORE
  end

  def change(verb, resource_type, resource_name, operation)
    admin = Rdkafka::Config.new("bootstrap.servers" => @broker.address).admin
    admin.public_send(verb, resource_type:, resource_name:, operation:, **RULE)
         .wait(max_wait_timeout: SECONDS)
  ensure
    admin&.close
  end
end
