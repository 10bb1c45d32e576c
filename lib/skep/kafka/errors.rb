# frozen_string_literal: true

# What can keep a Kafka source from working, each with what to do about it.
#
#   rescue Skep::Kafka::BrokerUnreachable => e
#     e.message   # => "no broker of kafka-1:9092 answered within 15 s (…): start the broker, or …"
#
# Those under Skep::BootError end a node's boot; `skep run` prints the sentence.
module Skep
  module Kafka
    # The gem that brings librdkafka isn't there.
    class GemMissing < BootError
      def initialize(gem:, cause:) #: (gem: String, cause: String) -> void
        super("Skep::Kafka needs the gem #{gem}, which can't be loaded (#{cause}): " \
              "add `gem \"#{gem}\"` to the Gemfile and run `bundle install`")
      end
    end

    # The source was given options or settings that can't be.
    class BadSource < BootError
      def initialize(sentences:) = super(sentences.join("\n")) #: (sentences: Array[String]) -> void
    end

    # No broker answered in time.
    class BrokerUnreachable < BootError
      #: (brokers: String, seconds: Numeric, cause: String?, ?patience: String) -> void
      def initialize(brokers:, seconds:, cause:, patience: "connect_timeout:")
        super("no broker of #{brokers} answered within #{seconds} s " \
              "(#{cause || "no error was given"}): #{TLS.match?(cause.to_s) ? SPEAK : START}; " \
              "#{patience} is how long to wait")
      end

      TLS = /SSL|security\.protocol/
      SPEAK = "set security.protocol to what this port speaks (plaintext, ssl, sasl_plaintext, " \
              "sasl_ssl), and ssl.ca.location if the broker's certificate is of your own making"
      START = "start the broker, or correct bootstrap.servers and the network or name behind it"
      private_constant :TLS, :SPEAK, :START
    end

    # A broker answered and refused: who we are, or what we ask for.
    class Refused < BootError
      ACLS = "for example with kafka-acls --add --allow-principal User:NAME --operation Read"
      ADVICE = {
        topic: "allow READ and DESCRIBE on it to this user, #{ACLS} --operation Describe " \
               "--topic TOPIC",
        group: "allow READ on it to this user, #{ACLS} --group GROUP",
        login: "correct security.protocol, sasl.mechanism, sasl.username and sasl.password, " \
               "or the certificate"
      }.freeze
      SUBJECT = { topic: "topic", group: "consumer group", login: "this user" }.freeze
      private_constant :ACLS, :ADVICE, :SUBJECT

      # What to do about an error that a working client meets; nil if it is no refusal.
      def self.advice(code) #: (Integer) -> String?
        case code
        when Codes::TOPIC_REFUSED then ADVICE[:topic]
        when Codes::GROUP_REFUSED then ADVICE[:group]
        when *Codes::LOGIN then ADVICE[:login]
        end
      end

      # what: :topic, :group or :login; name: which.
      #
      #: (what: Symbol, name: String?, brokers: String, cause: String) -> void
      def initialize(what:, name:, brokers:, cause:)
        subject = [SUBJECT.fetch(what), *name].join(" ")
        super("#{brokers} refuses #{subject} (#{cause}): #{ADVICE.fetch(what)}")
      end
    end

    # There is no such group.
    class UnknownGroup < Skep::Error
      def initialize(group:, brokers:) #: (group: String, brokers: String) -> void
        super("no group #{group} is known to #{brokers}: nobody has joined it, and it has " \
              "committed nothing (or so long ago that it was forgotten)")
      end
    end

    # It can't be asked about.
    class Unanswered < Skep::Error
      def initialize(group:, brokers:, cause:)
        super("#{brokers} can't tell of the group #{group} (#{cause}): try again in a moment")
      end
    end

    # librdkafka gave the client up, for instance because another member has its group.instance.id.
    class ClientFailed < Error
      def initialize(code:, text:) #: (code: String, text: String) -> void
        super("the Kafka client can't go on (#{code}: #{text}): " \
              "its node ends, so that a new one takes its place")
      end
    end

    # Another client is a member of the group by the name that is ours.
    class NameTaken < Error
      NEWCOMER = "two hosts of the same name run this swarm? Give each its own hostname, or set " \
                 "group.instance.id where they differ"
      KEPT = "with group.protocol: consumer a member that was killed keeps its name until its " \
             "session ends, and so does one of another host of that name"
      private_constant :NEWCOMER, :KEPT

      attr_reader :name #: String

      # kept: it was there before us.
      #: (name: String, group: String, cause: String, ?kept: bool) -> void
      def initialize(name:, group:, cause:, kept: false)
        @name = name
        super("another client is in the group #{group} as #{name} (#{cause}): " \
              "#{kept ? KEPT : NEWCOMER}. Until its next start this node has no name there")
      end
    end

    # A call into librdkafka failed where it shouldn't.
    class CallFailed < Error
      def initialize(call:, text:) #: (call: String, text: String) -> void
        super("librdkafka refused #{call}: #{text}")
      end
    end

    # The embedded broker's process didn't start.
    class NoBroker < Error
      def initialize(pid:, seconds:) #: (pid: Integer, seconds: Numeric) -> void
        super("the embedded broker, process #{pid}, didn't answer within #{seconds} s: " \
              "what it wrote to stderr says why")
      end
    end

    # Why a message that was never done isn't tried again: what became of the nodes that did try.
    class Crashed < Error
      def initialize(crashes:, ends:) #: (crashes: Integer, ends: Array[String]) -> void
        super("alone in hand at #{crashes} crashes of its node (#{ends.join("; ")})")
      end
    end

    # A message couldn't be written to its topic.
    class NotDelivered < Error
      def initialize(topic:, cause:) #: (topic: String, cause: String) -> void
        super("#{topic} didn't take a message (#{cause}): " \
              "does the topic exist, may this user write to it, " \
              "and does it take as much (max.message.bytes)?")
      end
    end
  end
end
