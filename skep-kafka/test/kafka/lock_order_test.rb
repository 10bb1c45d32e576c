# frozen_string_literal: true

require "kafka/support/kafka_case"
require "kafka/support/lock_recorder"

# Threads take locks in the order of docs/internals/kafka.md: while one is held, only those of a
# higher level. A node's whole life is recorded, with failures, dead letters and output.
class LockOrderTest < KafkaCase
  CONSUMER = {
    1 => [LockRecorder::ATTEMPT],
    2 => %w[scheduler@lock partition_reader@lock],
    3 => %w[partition_reader@reading],
    4 => %w[leader_epochs@lock fetch_errors@lock offset_committer@lock topic_queue@lock
            topic_evidence@lock event_reporter@lock consumer_metrics@lock partition_metrics@lock
            topic_totals@lock client_statistics@lock assigned_partition@attempts_lock
            present_failures@lock progress_row@lock],
    5 => %w[progress_page@lock bindings@lock]
  }.freeze
  PRODUCERS = {
    1 => [LockRecorder::ATTEMPT],
    2 => %w[renewable_producer@lock dead_letter_queue@lock],
    3 => %w[producer@closing],
    4 => %w[in_flight_messages@flush_lock],
    5 => %w[in_flight_messages@lock],
    6 => %w[producer_client@topics_lock handler_producer@lock producer@lock]
  }.freeze
  MESSAGES = 200
  ROOT = File.expand_path("../../..", __dir__)
  private_constant :CONSUMER, :PRODUCERS, :MESSAGES, :ROOT

  %i[partition key].each do |ordered_by|
    test "by #{ordered_by}, threads take locks in the order of their levels" do
      broker(orders: 4, "orders.dead": 1, copies: 1)
      feed("orders", (0...MESSAGES).map { |n| ["k#{n % 7}", n.to_s, n % 4] })
      pairs = recorded_pairs(ordered_by)

      wrong = pairs.reject { |pair| [CONSUMER, PRODUCERS].any? { |all| in_order?(all, *pair) } }
      assert_empty wrong
      [%w[attempt scheduler@lock], %w[scheduler@lock partition_reader@reading],
       %w[partition_reader@lock partition_reader@reading],
       %w[renewable_producer@lock producer@closing]].each { |pair| assert_includes pairs, pair }
    end
  end

  test "each lock has a level" do
    made = Dir.glob("#{ROOT}/skep-kafka/lib/skep/kafka{.rb,/**/*.rb}").flat_map do |path|
      variables = File.binread(path).scan(/(@\w+) = Mutex\.new/).flatten
      variables.map { |variable| File.basename(path, ".rb") + variable }
    end
    known = [CONSUMER, PRODUCERS].flat_map { |levels| levels.values.flatten }
    assert_equal made.uniq.sort, known.uniq.sort - [LockRecorder::ATTEMPT]
  end

  private

  def in_order?(levels, held, taken)
    of = ->(name) { levels.find { |_, names| names.include?(name) }&.first }
    lower, higher = of.call(held), of.call(taken)
    lower && higher && lower < higher
  end

  # Runs a node in its own process until each message is done.
  def recorded_pairs(ordered_by)
    options = self.options(ordered_by:, threads: 3, max_messages: 20, max_attempts: 2,
                           dead_letter_topic: "orders.dead", commit_interval: 0.1)
    pid, reader = in_child do |writer|
      LockRecorder.install
      left = (0...MESSAGES).to_h { |number| [number, true] }
      node = nil
      done = ->(number) { node.stop! if left.delete(number) && left.empty? }
      node = FakeNode.new do |name, facts|
        done.call((facts[:offset] * 4) + facts[:partition]) if name == "dead_lettered"
      end
      Skep::Kafka::Source.new(**options).run(node, handler(done))
      writer.write(JSON.generate(LockRecorder.pairs))
    end
    wait_readable(reader)
    JSON.parse(reader.read).tap { Process.wait(pid) }
  end

  def handler(done)
    lambda do |batch, node|
      batch.each do |message|
        number = Integer(message.payload)
        raise "bad" if number % 50 == 7

        node.producer.produce("copies", message.payload) if (number % 3).zero?
        batch.mark(message) if (number % 5).zero?
        done.call(number)
      end
    end
  end
end
