# frozen_string_literal: true

# Messages of one partition, in order: what a handler is given.
#
#   swarm.work(source) do |batch, child|
#     batch.each { |message| store(message.key, message.payload) }
#     batch.topic; batch.partition; batch.first_offset; batch.last_offset; batch.size
#   end
#
# A handler that returns has done the whole batch; one that raises gets the whole batch again.
module Skep
  module Kafka
    class Batch
      include Enumerable

      attr_reader :topic #: String
      attr_reader :partition #: Integer

      def initialize(topic, partition, messages) #: (String, Integer, Enumerable[Message]) -> void
        @topic = topic
        @partition = partition
        @haul = Haul.of(messages)
      end

      # Gives out the messages one by one, each a beat of the node's: a batch may take as long
      # as it likes, so long as its messages don't. (A handler that takes them all at once beats for
      # itself.) Which one was given out last is known even if the node dies of it; after the last
      # one all are at work.
      #: () { (Message) -> void } -> untyped
      def each(&)
        return enum_for(:each) { size } unless block_given?
        return (@haul.each(&) && self) unless @child

        give_out(&)
      end

      # Whose beats these are, from the first message on: each try begins with new Messages.
      def __given_to(child) #: (Child) -> void
        @child = child
        @messages = nil
      end

      def messages = @messages ||= @haul.to_a.freeze #: () -> Array[Message]
      def size = @haul.size #: () -> Integer
      def first_offset = @haul.first_offset #: () -> Integer
      def last_offset = @haul.last_offset #: () -> Integer

      # What they say, at less than the price of Messages.
      def payloads = @haul.payloads #: () -> Array[String?]

      # "topic/partition/first-last": how it is named on the page and in the log.
      def label = "#{topic}/#{partition}/#{first_offset}-#{last_offset}" #: () -> String

      # The same for events.
      def place = { topic:, partition:, offset: first_offset, last_offset: } #: () -> Hash

      # The same messages as batches of one, for finding the one that can't be done.
      #: () -> Array[Batch]
      def split = messages.map { |message| Batch.new(topic, partition, [message]) }

      # The same messages in batches in which those of which the block is true are alone.
      #: () { (Message) -> bool } -> Array[Batch]
      def isolate
        pieces = messages.chunk { |message| yield(message) ? :_alone : :together }
        pieces.map { |_, some| Batch.new(topic, partition, some) }
      end

      def inspect = "#<Skep::Kafka::Batch #{label} size=#{size}>" #: () -> String

      private

      def give_out
        @haul.each do |message|
          @child.at(message.offset)
          yield message
        end
        self
      rescue Exception # what ends the node with it, even: which one it was stays told
        raised = true
        raise
      ensure
        @child.at(nil) unless raised
      end
    end
  end
end
