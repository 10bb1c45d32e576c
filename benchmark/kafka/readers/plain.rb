# frozen_string_literal: true

# skep's client and partition readers without a swarm and without commits: the cost of reading
# alone.
require_relative "tally"

ENV["SKEP_PURE"] = Tally.wish("pure")
$LOAD_PATH.unshift(*Tally.wish("lib"))
require "skep/kafka"

module Skep
  module Kafka
    # A consumer that reads every assigned partition forever.
    class Plain
      LIMIT = 500

      def initialize
        @consumer = Consumer.new({ **Tally.settings, "group.id" => Tally.wish("group"),
                                   "enable.auto.commit" => "false" })
        @wakeup_pipe = Librdkafka::WakeupPipe.new
        @readers = {}
        @whole = Tally.wish("work") == "size"
      end

      def run
        @consumer.subscribe([Tally.wish("topic")])
        loop do
          @consumer.control.drain { |event| take(event.list) if event.kind == :rebalance }
          IO.select([@consumer.control.io, @wakeup_pipe.io])
          readable = @wakeup_pipe.drain
          readable.select! { |id| more?(@readers.fetch(id)) } until readable.empty?
        end
      end

      private

      def take(list)
        list.keys.each.with_index(1) do |(topic, number), id|
          queue = Librdkafka::PartitionQueue.new(@consumer.handle, topic, number, LIMIT)
          queue.notify(@wakeup_pipe, id)
          @readers[id] = queue
        end
        @consumer.assign(list)
      end

      def more?(reader)
        message_set, _, count = reader.read(LIMIT)
        message_set.each(&:payload) unless @whole
        Tally.add(message_set.size)
        count == LIMIT
      end
    end
    Plain.new.run
  end
end
