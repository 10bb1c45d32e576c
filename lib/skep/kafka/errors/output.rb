# frozen_string_literal: true

# What keeps a handler's output from being where it is to be, so that its batch isn't done.
#
#   rescue Skep::Kafka::OutputFailed => e
#     e.passing?  # => true where it is about the cluster, rather than about the messages
module Skep
  module Kafka
    # What a handler produced isn't where it is to be: the batch isn't done.
    class OutputFailed < Error
      # Is it about the cluster, rather than about the messages?
      def passing? = false #: () -> bool
    end

    # A message couldn't be written to its topic.
    class DeliveryFailed < OutputFailed
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

      def passing? = code.nil? || PASSING.include?(code) #: () -> bool, is another try worth it?

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

      attr_reader :code #: Integer, librdkafka's
      attr_reader :text #: String, librdkafka's words

      # Of an error object of librdkafka's, which is destroyed.
      def self.of(error, step) #: (FFI::Pointer, String) -> TransactionFailed
        new(step:, code: Librdkafka::Bindings.error_code(error), text: Librdkafka::Bindings.error_string(error),
            retriable: !Librdkafka::Bindings.error_is_retriable(error).zero?,
            fatal: !Librdkafka::Bindings.error_is_fatal(error).zero?)
      ensure
        Librdkafka::Bindings.error_destroy(error)
      end

      #: (step: String, code: Integer, text: String, ?retriable: bool, ?fatal: bool) -> void
      def initialize(step:, code:, text:, retriable: false, fatal: false)
        @code, @text = code, text
        @retriable, @fatal = retriable, fatal
        super("the transaction failed at #{step} (#{text}): nothing of it counts, and its batch " \
              "is tried again")
      end

      def passing? = true #: () -> bool, is another try worth it?
      def retriable? = @retriable #: () -> bool, with the same call
      def fatal? = @fatal #: () -> bool, for its producer
      def fenced? = FENCED.include?(code) #: () -> bool, has another producer of that id taken over?
      def refused? = REFUSED.include?(code) #: () -> bool, is it not allowed?
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
    class PartitionLost < OutputFailed
      def initialize(partition:) #: (partition: String) -> void
        super("#{partition} is another member's now: its messages are tried there")
      end

      def passing? = true #: () -> bool, is another try worth it?
    end

    # child.producer was used while no batch was in hand.
    class NoTransaction < Error
      def initialize #: () -> void
        super("there is no transaction to write into: child.producer of a transactional source " \
              "is there while its handler works on a batch, and no longer")
      end
    end

    # A batch was marked in a process that its handler has forked.
    class ForkedBatch < Error
      def initialize #: () -> void
        super("this batch is in another process' hands: what is done in one that its handler has " \
              "forked can only be marked by the handler")
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
