# frozen_string_literal: true

module Skep
  class Karafka < Guest
    # Collects facts about a node from Karafka's events: the batch that each thread processes,
    # whether all listeners poll, and the assigned partitions. The supervisor uses them.
    #
    #   watch = Watch.new(node, threads: 5).begin
    #   watch.problem      # a sentence if listeners don't poll, or nil
    #   watch.over?        # Karafka has stopped
    class Watch
      PATIENCE = 30.0 # seconds
      NODE = Guest::JobLocal.new(:skep_karafka_node)
      private_constant :PATIENCE, :NODE

      def self.node = NODE.value

      def initialize(node, threads:)
        @node = node
        @free = Thread::Queue.new
        (1..threads).each { |number| @free.push(node.thread(number)) }
        @working = 0
        @polled = {}
        @lock = Mutex.new
      end

      def begin
        on("consumer.consume") { |event| take(event[:caller]) }
        on("consumer.consumed") { |event| Watch.node&.processed(event[:caller].messages.size) }
        on("worker.completed") { give_back if Watch.node }
        # By thread: each listener has its own, and the caller of the second event is not the
        # listener.
        on("connection.listener.fetch_loop") { synchronize { @polled[Thread.current] = OS.now } }
        on("connection.listener.stopped") { synchronize { @polled.delete(Thread.current) } }
        on("rebalance.partitions_assigned") do |event|
          @node.assigned!(partitions: names(event[:tpl]))
        end
        on("app.stopped") { @over = true }
        self
      end

      def over? = @over

      # While a handler works, its listener waits.
      def problem
        silent = synchronize do
          @working.positive? ? 0 : @polled.count { |_, at| OS.now - at > PATIENCE }
        end
        "#{silent} of Karafka's listeners don't poll any more" if silent.positive?
      end

      private

      def take(consumer)
        synchronize { @working += 1 }
        node = NODE.value = @free.pop
        range = consumer.messages.metadata.then { |one| "#{one.first_offset}-#{one.last_offset}" }
        node.in_flight("#{consumer.topic.name}/#{consumer.partition}/#{range}")
      end

      def give_back
        node, NODE.value = Watch.node, nil
        node.in_flight(nil)
        @free.push(node)
        synchronize do
          @working -= 1
          @polled.transform_values! { OS.now }
        end
      end

      def names(list)
        list.to_h.transform_values { |partitions| partitions.map(&:partition) }
      end

      def on(name, &block) = ::Karafka.monitor.subscribe(name, &block)
      def synchronize(&block) = @lock.synchronize(&block)
    end
  end
end
