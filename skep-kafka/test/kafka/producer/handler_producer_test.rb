# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    class Producer
      # node.producer: what a handler produces belongs to its batch.
      class HandlerProducerTest < ::KafkaCase
        MSG_SIZE_TOO_LARGE = 10
        PRODUCE = 0 # the API key
        private_constant :MSG_SIZE_TOO_LARGE, :PRODUCE

        test "a batch is done once all that its handler produced is acknowledged" do
          broker(orders: 2, out: 1)
          feed("orders", (0...40).map { |n| ["k", n.to_s, n % 2] })
          pending = []
          pass_on(40, threads: 2) { |delivery| pending << delivery }

          assert_equal (0...40).map(&:to_s), outputs(40).sort_by(&:to_i)
          assert pending.all?(&:report)
          assert_empty redelivered
        end

        test "a message that isn't delivered fails the handler, and its batch is retried" do
          broker(orders: 1, out: 1)
          feed("orders", [%w[k one]])
          @broker.fail_next(PRODUCE, MSG_SIZE_TOO_LARGE)
          events = pass_on(2)

          failure, = named(events, "handler_failed")
          assert_match(/DeliveryFailed: Can't deliver .* to out \(.*too large/, failure[:error])
          assert_equal %w[one], outputs(1)
          assert_empty named(events, "kafka_delivery_failed")
          assert_empty redelivered
        end

        test "a failure that the handler has rescued doesn't fail its batch" do
          broker(orders: 1, out: 1)
          feed("orders", [%w[k one]])
          @broker.fail_next(PRODUCE, MSG_SIZE_TOO_LARGE)
          seen = []
          events = play do |batch, node|
            node.producer.produce_sync("out", batch.payloads.first)
          rescue DeliveryFailed => e
            seen << e.code
            node.stop!
          end

          assert_equal [MSG_SIZE_TOO_LARGE], seen
          assert_empty named(events, "handler_failed")
          assert_empty redelivered
        end

        test "a process that the handler forks can't wait, flush or mark" do
          broker(orders: 1, out: 1)
          feed("orders", [%w[k one]])
          messages = []
          events = play do |batch, node|
            delivery = node.producer.produce("out", "x")
            pid, reader = in_child do |writer|
              tries = [-> { delivery.wait }, -> { node.producer.flush(60) }, -> { batch.mark(0) }]
              tries.each { |try| writer.puts(assert_raises(Skep::Error) { try.call }.message) }
            end
            wait_readable(reader)
            messages = reader.read.lines
            Process.wait(pid)
            node.stop!
          end

          assert_equal [*["This producer belongs to another process"] * 2,
                        "This batch belongs to another process"],
                       messages.map { |line| line[/\A.*? process/] }
          assert_empty named(events, "handler_failed")
          assert_equal %w[x], outputs(1)
          assert_empty redelivered
        end

        test "flush returns how many messages aren't acknowledged" do
          broker(orders: 1, out: 1)
          feed("orders", [%w[k one]])
          left = nil
          play do |batch, node|
            batch.each { node.producer.produce("out", "x") }
            left = node.producer.flush(10)
            node.stop!
          end
          assert_equal 0, left
        end

        test "the end of a batch, and a flush, don't wait for linger.ms" do
          broker(orders: 2, out: 1)
          feed("orders", (0...6).map { |n| ["k", n.to_s, n % 2] })
          left = []
          began = Skep::OS.now
          pass_on(6, threads: 2, max_messages: 1, producer: { "linger.ms": 60_000 }) do |_, node|
            left << node.producer.flush(10)
          end

          assert_operator Skep::OS.now - began, :<, 30
          assert_equal [0] * 6, left
          assert_equal (0...6).map(&:to_s), outputs(6).sort_by(&:to_i)
          assert_empty redelivered
        end

        # The source runs in a forked process, which may exit with an open client.
        test "a stop without a broker ends in time, and the batch isn't done" do
          broker(orders: 1, out: 1)
          feed("orders", [%w[k one]])
          pid, reader = in_child do |writer|
            node = FakeNode.new { |*event| writer.write("#{JSON.generate(event)}\n") }
            handler = lambda do |_, node|
              node.producer.produce_sync("out", "first")
              @broker.down!
              node.producer.produce("out", "second")
              node.time_left = 3.0
              node.stop!
            end
            Source.new(**options).run(node, handler)
          end
          wait_readable(reader)
          events = reader.each_line.map { |line| JSON.parse(line, symbolize_names: true) }

          assert_predicate Process.wait2(pid).last, :success?
          assert_match(/no answer, and the node is stopping/,
                       named(events, "handler_failed").first[:error])
          assert_equal 1, named(events, "kafka_delivery_failed").sum { |facts| facts[:count] }
        end

        test "an invalid setting of producer: is reported with that name" do
          source = Source.new(kafka: { "bootstrap.servers": "b:1" }, group: "g", topics: "t",
                                           producer: { "no.such": 1 }, transactional: 5)
          assert_equal 2, source.errors.size
          assert_match(/\Aproducer: .*no\.such/, source.errors.first)
          assert_match(/\Atransactional must be true, false or a name/, source.errors.last)
        end

        test "node.producer raises outside of a handler" do
          node = FakeNode.new
          error = assert_raises(Skep::Swarm::NoProducer) { node.producer }
          assert_match(/Elsewhere make your own, after the fork/, error.message)
        ensure
          node.close
        end

        private

        # Copies so many messages to the topic out, then stops the node.
        def pass_on(count, **more)
          seen = Thread::Queue.new
          play(more) do |batch, node|
            batch.each do |message|
              delivery = node.producer.produce("out", message.payload, key: message.key)
              yield delivery, node if block_given?
              seen << message
            end
            node.stop! if seen.size >= count
          end
        end

        def outputs(count) = payloads_of("out", count)
      end
    end
  end
end
