# frozen_string_literal: true

# The errors of Skep::Kafka. Each message says what failed, why, and what to do next.
#
#   rescue Skep::Kafka::BrokerUnreachable => e
#     e.message   # => "No broker of kafka-1:9092 answered within 15 s (…). Start the broker, or …"
#
# AuthorizationError says what a broker refuses, and which ACL to grant. A Skep::BootError ends the
# boot of a node; `skep run` prints its message and exits with its code. An OutputFailed is raised
# when messages that a handler produced were not written; its batch is retried.
module Skep
  module Kafka
    # Include it in an error class, or extend an error with it, and a message whose handler raises
    # that error is not tried again: it goes to the dead letter topic at once, if there is one.
    #
    #   class NoOrder < StandardError
    #     include Skep::Kafka::NonRetryable
    #   end
    #
    #   raise error.extend(Skep::Kafka::NonRetryable)   # for an error class of a library
    module NonRetryable
    end

    # The payload of a message isn't in the format of `deserializer:`.
    class InvalidPayload < Skep::Error
      include NonRetryable

      def initialize(format:, bytes:)
        super("the payload (#{bytes} bytes) isn't #{format}: correct its producer, " \
              "or the source's deserializer")
      end
    end

    # The gem that contains librdkafka can't be loaded.
    class MissingGem < BootError
      def initialize(gem:, cause:)
        super("Skep::Kafka needs the gem #{gem}, which can't be loaded (#{cause}). " \
              "Run `gem install #{gem}`, or add `gem \"#{gem}\"` to the Gemfile and run " \
              "`bundle install`.")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION
    end

    # The librdkafka in the gem can't be opened: the gem may be one for another platform.
    class UnusableLibrdkafka < BootError
      # gem: with its version.
      def initialize(gem:, cause:)
        super("the librdkafka in #{gem} can't be opened (#{cause}). If the gem is for another " \
              "platform, run `gem uninstall karafka-rdkafka` and `gem install karafka-rdkafka " \
              "--platform ruby`: RubyGems before 3.3.22 may install the one for musl.")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION
    end

    # The librdkafka in the gem is older than skep supports.
    class UnsupportedLibrdkafka < BootError
      # gem: with its version.
      def initialize(version:, gem:)
        oldest = Librdkafka::Version::OLDEST.first(2).join(".")
        super("librdkafka #{version} (#{gem}) is too old: Skep::Kafka needs #{oldest} or newer. " \
              "Run `bundle update karafka-rdkafka` with `gem \"karafka-rdkafka\", " \
              "\">= #{Librdkafka::Version::OLDEST_GEM}\"` in the Gemfile, or `gem install " \
              "karafka-rdkafka -v \">= #{Librdkafka::Version::OLDEST_GEM}\"`.")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION
    end

    # An option of the source, or a setting of librdkafka, is invalid.
    class ConfigurationError < BootError
      def initialize(sentences:) = super(sentences.join("\n"))

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION
    end

    # No broker answered within the timeout.
    class BrokerUnreachable < BootError
      # patience: the name of the option that sets the timeout.
      def initialize(brokers:, seconds:, cause:, patience: "connect_timeout")
        super("No broker of #{brokers} answered within #{seconds} s " \
              "(#{cause || "no error was reported"}). " \
              "#{TLS.match?(cause.to_s) ? PROTOCOL : START}; #{patience} sets how long to wait.")
      end

      # Returns 75: trying again may help.
      def exit_code = ExitCode::UNAVAILABLE

      TLS = /SSL|security\.protocol/
      PROTOCOL = "Set security.protocol to the protocol of this port (plaintext, ssl, " \
                 "sasl_plaintext or sasl_ssl), and ssl.ca.location if a private CA signed the " \
                 "broker's certificate"
      START = "Start the broker, or correct bootstrap.servers, the network or the host name"
      private_constant :TLS, :PROTOCOL, :START
    end

    # The database of `offsets: :database` doesn't answer.
    class DatabaseUnreachable < BootError
      def initialize(cause:)
        super("The database of offsets: :database can't be used " \
              "(#{cause.class}: #{cause.message.lines.first&.chomp}). Start it, or connect " \
              "Active Record to it in preload or on_boot.")
      end

      # Returns 75: trying again may help.
      def exit_code = ExitCode::UNAVAILABLE
    end

    # A broker refused the login, or access to a topic, a group or a transactional.id.
    class AuthorizationError < BootError
      ACLS = "for example with kafka-acls --add --allow-principal User:NAME --operation"
      ADVICE = {
        topic: "Grant this user READ and DESCRIBE on it, #{ACLS} Read --operation Describe " \
               "--topic TOPIC",
        group: "Grant this user READ on it, #{ACLS} Read --group GROUP",
        login: "Correct security.protocol, sasl.mechanism, sasl.username and sasl.password, " \
               "or the certificate",
        transaction: "Grant this user WRITE on it, #{ACLS} Write --transactional-id ID"
      }.freeze
      SUBJECT = { topic: "topic", group: "consumer group", login: "this user",
                  transaction: "transactional.id" }.freeze
      private_constant :ACLS, :ADVICE, :SUBJECT

      # Returns what to do about an error of a client, or nil if the error isn't a refusal.
      def self.advice(code)
        case code
        when Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED then ADVICE[:topic]
        when Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED then ADVICE[:group]
        when *Librdkafka::ErrorCode::LOGIN then ADVICE[:login]
        end
      end

      # what: :topic, :group, :login or :transaction; name: of the topic, group or transactional.id.
      def initialize(what:, name:, brokers:, cause:)
        subject = [SUBJECT.fetch(what), *name].join(" ")
        super("#{brokers} refuses #{subject} (#{cause}). #{ADVICE.fetch(what)}.")
      end

      # Returns 78: trying again doesn't help.
      def exit_code = ExitCode::CONFIGURATION
    end

    # The cluster knows no group of this name.
    class UnknownGroup < Skep::Error
      # describable: whether the cluster can describe groups at all.
      def initialize(group:, brokers:, describable: true)
        super(if describable
                "#{brokers} knows no group #{group} (no member has joined it, and it has no " \
                  "committed offsets, or they have expired). Check the group's name."
              else
                "#{brokers} can't describe groups, as the embedded broker can't. `skep status` " \
                  "shows the lag of a running swarm."
              end)
      end
    end

    # The cluster has no topic of this name.
    class UnknownTopic < Skep::Error
      def initialize(topic:, brokers:)
        super("#{brokers} has no topic #{topic}. Check the topic's name, and which cluster it is.")
      end
    end

    # The brokers don't delete messages of the topic.
    class DeletionRefused < Skep::Error
      # deletes: whether the brokers can delete messages at all.
      def initialize(topic:, cause:, deletes: true)
        what = "Its cleanup.policy must be delete, and the user needs the permission DELETE. " \
               "What has been replayed or purged until then stays so; up to 500 more letters " \
               "may be there twice."
        what = "Nothing was written: the embedded broker can't do it. Use a cluster." unless deletes
        super("Messages of #{topic} can't be deleted (#{cause}). #{what}")
      end
    end

    # A request about a group failed.
    class RequestFailed < Skep::Error
      def initialize(group:, brokers:, cause:)
        super("#{brokers} can't describe group #{group} (#{cause}). Try again.")
      end
    end

    # librdkafka reported a fatal error: the client can't be used any more.
    class FatalClientError < Error
      def initialize(code:, text:)
        super("The Kafka client failed (#{code}: #{text}). A consumer's node exits and is " \
              "replaced; make a new producer in place of a failed one.")
      end
    end

    # Another member of the group uses this node's group.instance.id.
    class InstanceIdTaken < Error
      CHECK = "Set group.instance.id per host, or give each host its own hostname"
      KEPT = "Set group.instance.id per host, or wait until the session of the killed member " \
             "expires"
      private_constant :CHECK, :KEPT

      attr_reader :name # the group.instance.id
      attr_reader :why # librdkafka's error text

      # kept: the other member had the id before this node joined.
      def initialize(name:, group:, cause:, kept: false)
        @name = name
        @why = cause
        super("Group #{group}: static member id #{name} is already used by another client " \
              "(#{cause}). #{kept ? KEPT : CHECK}; this node continues as a dynamic member " \
              "until it restarts.")
      end
    end

    # The node lost its membership and joined again under its group.instance.id; the broker then
    # fenced it, because an older request of the same node arrived after that.
    class MemberFenced < Error
      attr_reader :name # the group.instance.id

      def initialize(name:, group:, cause:)
        @name = name
        super("Group #{group}: static member id #{name} was fenced after it had lost its " \
              "membership and joined again (#{cause}). This node joins once more under the same " \
              "id.")
      end
    end

    # Nothing comes from a partition that has messages, or no assignment to a member that waits for
    # one.
    class NodeStalled < Error
      # what: a partition or a group.
      def initialize(what:, seconds:)
        super("Nothing has come from #{what} for #{seconds} s. This node exits and is replaced, " \
              "so that a new Kafka client tries it.")
      end
    end

    # A topic was deleted and created again while the node read it.
    class TopicRecreated < Error
      def initialize(topics:)
        super("#{topics.join(", ")} was deleted and created again. This node exits and is " \
              "replaced, so that a new Kafka client reads it.")
      end
    end

    # A call into librdkafka failed.
    class LibrdkafkaError < Error
      attr_reader :code # librdkafka's, if it is known

      def initialize(call:, text:, code: nil)
        @code = code
        super("librdkafka rejected #{call} (#{text})")
      end
    end

    # The process of the embedded broker didn't start.
    class EmbeddedBrokerFailed < Error
      def initialize(pid:, seconds:)
        super("The embedded broker (process #{pid}) didn't answer within #{seconds} s. " \
              "See what it wrote to stderr.")
      end
    end

    # The error of a poison message: it isn't raised, but written into the dead letter and the log.
    class CrashedNode < Error
      # crashes: those that prove it. total: with those at which more was in progress. ends: how
      # the last nodes of all of them ended.
      def initialize(crashes:, total:, ends:)
        all = ", #{total} times in all" if total > crashes
        super("The node crashed #{crashes} times while it processed only this message#{all} " \
              "(#{ends.join("; ")})")
      end
    end

    # A handler was left without a return and without an exception.
    class HandlerLeft < Error
      def initialize
        super("The handler (or a filter, a deserializer, a key callable) has neither returned " \
              "nor raised: a throw, a return or break of a method around it, or Thread#exit " \
              "has left it. Its batch counts as failed. Use next, or raise.")
      end
    end

    # What a handler produced was not written, so its batch isn't done.
    class OutputFailed < Error
      # Returns true if the cause is the cluster and not the messages: the same batch may succeed
      # later, so it doesn't become a dead letter.
      def passing? = false
    end

    # A message couldn't be written to its topic.
    class DeliveryFailed < OutputFailed
      # _TRANSPORT, _RESOLVE, _MSG_TIMED_OUT, _ALL_BROKERS_DOWN, _TIMED_OUT, _SSL, _PURGE_QUEUE
      # and _PURGE_INFLIGHT: librdkafka gave up before a broker had answered.
      PASSING = [-195, -193, -192, -187, -185, -181, -152, -151].freeze
      TOO_LARGE = 10 # MSG_SIZE_TOO_LARGE
      SMALLER = "Send smaller messages, or raise message.max.bytes here and max.message.bytes " \
                "of the topic"
      CHECK = "Check that the topic exists, that this user may write to it, and that it accepts " \
              "messages of this size (max.message.bytes)"
      private_constant :PASSING, :TOO_LARGE, :SMALLER, :CHECK

      attr_reader :why # librdkafka's error text
      attr_reader :code # librdkafka's error code

      # count: of the messages that failed with this error.
      def initialize(topic:, cause:, code: nil, count: 1)
        @why = cause
        @code = code
        messages = count == 1 ? "a message" : "#{count} messages"
        super("Can't deliver #{messages} to #{topic} (#{cause}). " \
              "#{code == TOO_LARGE ? SMALLER : CHECK}.")
      end

      # Returns true if the same message may be delivered later.
      def passing? = code.nil? || PASSING.include?(code)
    end

    # A step of a transaction failed. The transaction is aborted and its batch is tried again.
    class TransactionFailed < OutputFailed
      FENCED = [-144, 47, 90].freeze # _FENCED, INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
      REFUSED = [31, 53].freeze # CLUSTER_ and TRANSACTIONAL_ID_AUTHORIZATION_FAILED
      private_constant :FENCED, :REFUSED

      attr_reader :code # librdkafka's error code
      attr_reader :text # librdkafka's error text

      def initialize(step:, code:, text:, retriable: false, fatal: false)
        @code, @text = code, text
        @retriable, @fatal = retriable, fatal
        super("The transaction failed at #{step} (#{text}). Its batch is retried unless " \
              "the brokers have committed it.")
      end

      def passing? = true # another try may succeed

      # Returns true if the same call may succeed when it is repeated.
      def retriable? = @retriable

      # Returns true if the producer can't be used any more.
      def fatal? = @fatal

      # Returns true if another producer has taken over the transactional.id, or the broker has
      # aborted the transaction.
      def fenced? = FENCED.include?(code)

      # Returns true if this user isn't authorized to use the transactional.id.
      def refused? = REFUSED.include?(code)
    end

    # A transaction took longer than transaction.timeout.ms.
    class TransactionTimedOut < OutputFailed
      def initialize(seconds:, limit:)
        super("The broker aborted the transaction after #{seconds} s (transaction.timeout.ms is " \
              "#{limit} s). Use smaller batches, or raise the limit with " \
              "producer: { \"transaction.timeout.ms\": … }; the batch is retried.")
      end
    end

    # A partition was assigned to another member while its batch was being processed.
    class PartitionLost < OutputFailed
      def initialize(partition:)
        super("Partition #{partition} was lost while its batch was processed. Its new owner " \
              "processes these messages.")
      end

      def passing? = true # another try may succeed
    end

    # The database of `offsets: :database` failed apart from the handler. The batch is retried.
    class OffsetsFailed < OutputFailed
      # cause: an error, or a text.
      def initialize(cause:)
        cause = "#{cause.class}: #{cause.message.lines.first&.chomp}" if cause.is_a?(Exception)
        super("The offset can't be committed to the database (#{cause}). The batch is retried.")
      end

      def passing? = true # another try may succeed
    end

    # A handler raised ActiveRecord::Rollback out of the transaction of `offsets: :database`.
    class RolledBack < Error
      def initialize
        super("The handler rolled back the transaction of its batch (ActiveRecord::Rollback), " \
              "so the batch isn't done. Roll back your own transaction, with " \
              "requires_new: true.")
      end
    end

    # A handler asked for what `offsets: :database` can't do.
    class OneTransaction < Error
      # call: the method of the batch.
      def initialize(call:)
        super("batch.#{call} isn't possible with offsets: :database (a batch is one " \
              "transaction). #{ADVICE.fetch(call)}.")
      end

      ADVICE = { mark: "Make batches smaller with max_messages",
                 seek: "Stop the swarm, and change next_offset in the table skep_offsets" }.freeze
      private_constant :ADVICE
    end

    # The producer of a transactional source was used outside of its handler.
    class NoTransaction < Error
      def initialize
        super("No transaction is open. Use node.producer of a transactional source only while " \
              "its handler processes a batch.")
      end
    end

    # A batch was marked in a process that its handler had forked.
    class ForkedBatch < Error
      def initialize
        super("This batch belongs to another process. Mark it in the process that received it, " \
              "not in one that the handler forks.")
      end
    end

    # A producer was used in a process that was forked after the producer was made.
    class ForkedProducer < Error
      def initialize
        super("This producer belongs to another process (its threads and connections don't " \
              "exist after a fork). Make a producer after the fork, in on_boot or in the work, " \
              "or use node.producer.")
      end
    end
  end
end
