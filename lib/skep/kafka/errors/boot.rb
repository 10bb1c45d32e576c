# frozen_string_literal: true

# What ends a node's boot: nothing of it can work. `skep run` prints the sentence.
#
#   rescue Skep::Kafka::BrokerUnreachable => e
#     e.message   # => "no broker of kafka-1:9092 answered within 15 s (…): start the broker, or …"
module Skep
  module Kafka
    # The gem that brings librdkafka isn't there.
    class GemMissing < BootError
      def initialize(gem:, cause:) #: (gem: String, cause: String) -> void
        super("Skep::Kafka needs the gem #{gem}, which can't be loaded (#{cause}): " \
              "`gem install #{gem}`, or add `gem \"#{gem}\"` to the Gemfile and run " \
              "`bundle install`")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION #: () -> Integer
    end

    # The source was given options or settings that can't be.
    class ConfigurationError < BootError
      def initialize(sentences:) = super(sentences.join("\n")) #: (sentences: Array[String]) -> void

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION #: () -> Integer
    end

    # No broker answered in time.
    class BrokerUnreachable < BootError
      #: (brokers: String, seconds: Numeric, cause: String?, ?patience: String) -> void
      def initialize(brokers:, seconds:, cause:, patience: "connect_timeout:")
        super("no broker of #{brokers} answered within #{seconds} s " \
              "(#{cause || "no error was given"}): #{TLS.match?(cause.to_s) ? SPEAK : START}; " \
              "#{patience} is how long to wait")
      end

      # Returns 75: trying again may help.
      def exit_code = ExitCode::UNAVAILABLE #: () -> Integer

      TLS = /SSL|security\.protocol/
      SPEAK = "set security.protocol to what this port speaks (plaintext, ssl, sasl_plaintext, " \
              "sasl_ssl), and ssl.ca.location if the broker's certificate is of your own making"
      START = "start the broker, or correct bootstrap.servers and the network or name behind it"
      private_constant :TLS, :SPEAK, :START
    end

    # A broker answered and refused: who we are, or what we ask for.
    class AuthorizationError < BootError
      ACLS = "for example with kafka-acls --add --allow-principal User:NAME --operation Read"
      ADVICE = {
        topic: "allow READ and DESCRIBE on it to this user, #{ACLS} --operation Describe " \
               "--topic TOPIC",
        group: "allow READ on it to this user, #{ACLS} --group GROUP",
        login: "correct security.protocol, sasl.mechanism, sasl.username and sasl.password, " \
               "or the certificate",
        transaction: "allow WRITE on it to this user, for example with kafka-acls --add " \
                     "--allow-principal User:NAME --operation Write --transactional-id ID"
      }.freeze
      SUBJECT = { topic: "topic", group: "consumer group", login: "this user",
                  transaction: "transactional.id" }.freeze
      private_constant :ACLS, :ADVICE, :SUBJECT

      # What to do about an error that a working client meets; nil if it is no refusal.
      def self.advice(code) #: (Integer) -> String?
        case code
        when Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED then ADVICE[:topic]
        when Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED then ADVICE[:group]
        when *Librdkafka::ErrorCode::LOGIN then ADVICE[:login]
        end
      end

      # what: :topic, :group, :login or :transaction; name: which.
      #
      #: (what: Symbol, name: String?, brokers: String, cause: String) -> void
      def initialize(what:, name:, brokers:, cause:)
        subject = [SUBJECT.fetch(what), *name].join(" ")
        super("#{brokers} refuses #{subject} (#{cause}): #{ADVICE.fetch(what)}")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION #: () -> Integer
    end
  end
end
