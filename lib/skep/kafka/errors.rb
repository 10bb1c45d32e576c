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
        when Codes::TOPIC_REFUSED then ADVICE[:topic]
        when Codes::GROUP_REFUSED then ADVICE[:group]
        when *Codes::LOGIN then ADVICE[:login]
        end
      end

      # what: :topic, :group, :login or :transaction; name: which.
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

    # What a handler produced isn't where it is to be: the batch isn't done.
    class OutputFailed < Error
      # Is it about the cluster, rather than about the messages?
      def passing? = false #: () -> bool
    end

    # A message couldn't be written to its topic.
    class NotDelivered < OutputFailed
      # Given up by librdkafka for want of an answer.
      PASSING = [-195, -193, -192, -187, -185, -181, -152, -151].freeze
      TOO_LARGE = [-176, 10].freeze
      private_constant :PASSING, :TOO_LARGE

      attr_reader :why #: String, librdkafka's words
      attr_reader :code #: Integer?, librdkafka's number for it

      #: (topic: String, cause: String, ?code: Integer?, ?count: Integer) -> void
      def initialize(topic:, cause:, code: nil, count: 1)
        @why = cause
        @code = code
        messages = count == 1 ? "a message" : "#{count} messages"
        super("#{topic} didn't take #{messages} (#{cause}): #{advice}")
      end

      def passing? = code.nil? || PASSING.include?(code) #: () -> bool

      private

      def advice
        if TOO_LARGE.include?(code)
          "send less, or raise message.max.bytes here and max.message.bytes of the topic"
        else
          "does the topic exist, may this user write to it, " \
            "and does it take as much (max.message.bytes)?"
        end
      end
    end

    # A step of a transaction failed. Its outputs don't count, and the batch is tried again.
    class TransactionFailed < OutputFailed
      FENCED = [-144, 47, 90].freeze # _FENCED, INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
      REFUSED = [31, 53].freeze # CLUSTER_ and TRANSACTIONAL_ID_AUTHORIZATION_FAILED
      private_constant :FENCED, :REFUSED

      attr_reader :code #: Integer
      attr_reader :text #: String

      # Of an error object of librdkafka's, which is destroyed.
      def self.of(error, step) #: (FFI::Pointer, String) -> TransactionFailed
        new(step:, code: Native.error_code(error), text: Native.error_string(error),
            retriable: !Native.error_is_retriable(error).zero?,
            fatal: !Native.error_is_fatal(error).zero?)
      ensure
        Native.error_destroy(error)
      end

      #: (step: String, code: Integer, text: String, ?retriable: bool, ?fatal: bool) -> void
      def initialize(step:, code:, text:, retriable: false, fatal: false)
        @code, @text = code, text
        @retriable, @fatal = retriable, fatal
        super("the transaction failed at #{step} (#{text}): nothing of it counts, and its batch " \
              "is tried again")
      end

      def passing? = true #: () -> bool
      def retriable? = @retriable #: () -> bool, with the same call
      def fatal? = @fatal #: () -> bool, for its producer
      def fenced? = FENCED.include?(code) #: () -> bool
      def refused? = REFUSED.include?(code) #: () -> bool
    end

    # A transaction took longer than the broker lets it.
    class TransactionTimedOut < OutputFailed
      def initialize(seconds:, limit:) #: (seconds: Numeric, limit: Numeric) -> void
        super("the transaction was aborted by the broker after #{seconds} s, with " \
              "transaction.timeout.ms at #{limit} s: its batch is tried again. Make the batch " \
              "smaller, or give producer: { \"transaction.timeout.ms\": … }")
      end
    end

    # A partition went to another member in the midst of a batch.
    class Gone < OutputFailed
      def initialize(partition:) #: (partition: String) -> void
        super("#{partition} is another member's now: its messages are tried there")
      end

      def passing? = true #: () -> bool
    end

    # child.producer was used while no batch was in hand.
    class NoTransaction < Error
      def initialize #: () -> void
        super("there is no transaction to write into: child.producer of a transactional source " \
              "is there while its handler works on a batch, and no longer")
      end
    end

    # A producer that was made before the fork.
    class ForkedProducer < Error
      def initialize #: () -> void
        super("this producer is another process': its threads and connections don't come along " \
              "in a fork. Make one after it, in on_boot or in the work, or take child.producer")
      end
    end
  end
end
