# frozen_string_literal: true

require "json"
require "rdkafka"

# A second entrance to a broker, where one must log in: "reader", with the password "tiger-lily",
# may do nothing until it is allowed. Who comes by the first one, without a login, may do all, so
# that the broker can talk to itself.
#
#   door = Door.new(broker)          # starts the broker again
#   door = Door.new(broker, session: 5)   # it demands tokens (OAUTHBEARER), a new one each 5 s
#   Door.token("reader", 30)         # one that is good for 30 s
#   door.login                       # librdkafka's settings for who comes through it
#   door.allow(Door::TOPIC, "orders"); door.refuse(Door::TOPIC, "orders")
#   door.allow(Door::TOPIC, "dead", Door::WRITE)
class Door
  TOPIC, GROUP = 2, 3 # rd_kafka_ResourceType_t
  READ, WRITE, DESCRIBE = 3, 4, 8 # rd_kafka_AclOperation_t
  PREFIXED, ALLOW, SECONDS = 3, 3, 15
  # The name is a prefix.
  RULE = { resource_pattern_type: PREFIXED, principal: "User:reader", host: "*",
           permission_type: ALLOW }.freeze
  private_constant :PREFIXED, :ALLOW, :SECONDS, :RULE

  attr_reader :address

  # An unsecured JWT, which a broker without a validator of its own accepts.
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
    broker.reconfigure { |properties| guarded(properties) }
  end

  def login
    { "bootstrap.servers" => address, "security.protocol" => "sasl_plaintext",
      "sasl.mechanism" => "PLAIN", "sasl.username" => "reader",
      "sasl.password" => "tiger-lily" }
  end

  def allow(type, name, operation = READ) = change(:create_acl, type, name, operation)
  def refuse(type, name, operation = READ) = change(:delete_acl, type, name, operation)

  private

  def guarded(properties)
    more = { "listeners" => "SASL_PLAINTEXT://#{address}",
             "advertised.listeners" => "SASL_PLAINTEXT://#{address}",
             "listener.security.protocol.map" => "SASL_PLAINTEXT:SASL_PLAINTEXT" }
    more.each { |name, value| properties = properties.sub(/^#{name}=.*/) { "#{_1},#{value}" } }
    @session ? properties + tokens : properties + passwords
  end

  def tokens
    <<~MORE
      sasl.enabled.mechanisms=OAUTHBEARER
      listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=\
      org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
      unsecuredLoginStringClaim_sub="broker";
      listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms=#{@session * 1000}
    MORE
  end

  def passwords
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
