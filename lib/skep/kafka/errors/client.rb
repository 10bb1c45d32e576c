# frozen_string_literal: true

# What befalls a client and the node that has it, and who asks a cluster something.
#
#   rescue Skep::Kafka::InstanceIdTaken => e
#     e.name      # => "billing-web3-0"
module Skep
  module Kafka
    # There is no such group.
    class UnknownGroup < Skep::Error
      def initialize(group:, brokers:) #: (group: String, brokers: String) -> void
        super("no group #{group} is known to #{brokers}: nobody has joined it, and it has " \
              "committed nothing (or so long ago that it was forgotten)")
      end
    end

    # It can't be asked about.
    class RequestFailed < Skep::Error
      def initialize(group:, brokers:, cause:)
        super("#{brokers} can't tell of the group #{group} (#{cause}): try again in a moment")
      end
    end

    # librdkafka gave the client up, for instance because another member has its group.instance.id.
    class FatalClientError < Error
      def initialize(code:, text:) #: (code: String, text: String) -> void
        super("the Kafka client can't go on (#{code}: #{text}): " \
              "its node ends, so that a new one takes its place")
      end
    end

    # Another client is a member of the group by the name that is ours.
    class InstanceIdTaken < Error
      NEWCOMER = "two hosts of the same name run this swarm? Give each its own hostname, or set " \
                 "group.instance.id where they differ"
      KEPT = "with group.protocol: consumer a member that was killed keeps its name until its " \
             "session ends, and so does one of another host of that name"
      private_constant :NEWCOMER, :KEPT

      attr_reader :name #: String, of the member
      attr_reader :why #: String, librdkafka's words

      # kept: it was there before us.
      #: (name: String, group: String, cause: String, ?kept: bool) -> void
      def initialize(name:, group:, cause:, kept: false)
        @name = name
        @why = cause
        super("another client is in the group #{group} as #{name} (#{cause}): " \
              "#{kept ? KEPT : NEWCOMER}. Until its next start this node has no name there")
      end
    end

    # What a member still had to tell came after it had lost its place and joined again by its name:
    # the broker takes that for another's.
    class SelfFenced < Error
      attr_reader :name #: String, of the member

      #: (name: String, group: String, cause: String) -> void
      def initialize(name:, group:, cause:)
        @name = name
        super("the group #{group} takes #{name} for two clients, as it had lost its place and " \
              "came back (#{cause}): it joins once more by that name")
      end
    end

    # A call into librdkafka failed where it shouldn't.
    class LibrdkafkaError < Error
      def initialize(call:, text:) #: (call: String, text: String) -> void
        super("librdkafka refused #{call}: #{text}")
      end
    end

    # The embedded broker's process didn't start.
    class EmbeddedBrokerFailed < Error
      def initialize(pid:, seconds:) #: (pid: Integer, seconds: Numeric) -> void
        super("the embedded broker, process #{pid}, didn't answer within #{seconds} s: " \
              "what it wrote to stderr says why")
      end
    end

    # Why a message that was never done isn't tried again: what became of the nodes that did try.
    class CrashedNode < Error
      def initialize(crashes:, ends:) #: (crashes: Integer, ends: Array[String]) -> void
        super("alone in hand at #{crashes} crashes of its node (#{ends.join("; ")})")
      end
    end
  end
end
