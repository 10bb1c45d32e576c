# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "kafka/support/fake_node"
require "kafka/support/pile"
require "kafka/support/shared_broker"

# Tests with a broker: sources run in this process (`play`) or in forked ones (`Member`). Each test
# has an empty broker (SharedBroker).
class KafkaCase < Skep::TestCase
  SECONDS = 15
  private_constant :SECONDS

  # A source in its own process. It writes its events into a pipe, and handled messages into a file,
  # one a line. The file remains after a kill.
  class Member
    attr_reader :pid

    def initialize(test, options, id:, file:)
      @test = test
      @lines = []
      @pid, @reader = test.in_child do |writer|
        node = FakeNode.new(id:) { |*event| writer.write("#{JSON.generate(event)}\n") }
        trap("TERM") { node.stop! }
        Skep::Kafka::Source.new(**options).run(node, note(file, id))
      end
    end

    # Waits for an event of that name for which the block is true. Returns its facts.
    def await(name, seconds = SECONDS)
      seconds = Patience.of(seconds)
      by = @test.deadline(seconds)
      loop do
        found = @lines.find { |known, facts| known == name && (!block_given? || yield(facts)) }
        return @lines.slice!(0..@lines.index(found)).last.last if found

        @test.wait_readable(@reader, @test.seconds_until(by))
        @lines << JSON.parse(@reader.readline)
      end
    rescue EOFError, Processes::TooLate => e
      raise "#{e.class} in the wait for #{name}; received: #{@lines.last(10)}"
    end

    # Sends the process a signal, and returns its exit status.
    def signal(name)
      Process.kill(name, pid)
      wait
    end

    def wait = Process.wait2(pid).last

    private

    def note(file, id)
      lambda do |batch, _|
        File.write(file, batch.map { |message| "#{id} #{message.key}\n" }.join, mode: "a")
      end
    end
  end

  def self.shares = :broker

  # The broker starts before Leaks lists the descriptors and children.
  def before_setup
    SharedBroker.start
    super
  rescue Skep::Kafka::MissingGem => e # the gem can't be installed without a compiler
    super
    missing e.message
  end

  def teardown = @node&.close

  def broker(**topics) = @broker ||= SharedBroker.with(topics.transform_keys(&:to_s))

  def options(**more)
    { kafka: @broker.settings, group: "readers", topics: "orders", retry_backoff: 0.01,
      retry_for: nil, **more }
  end

  # Writes items of [key, payload, partition] into a topic, those of a partition together.
  def feed(topic, items, headers: nil)
    pile = Skep::Kafka::Pile.new(@broker.bootstrap_servers)
    pile.write(topic, items, headers:)
  ensure
    pile&.close
  end

  # Runs a source in this process until the handler, or the block `on_event`, calls `node.stop!`.
  # Returns its events.
  def play(more = {}, on_event: nil, suspects: [], &handler)
    events = []
    @node&.close
    @node = FakeNode.new(suspects:) do |name, facts|
      events << [name, facts]
      on_event&.call(name, facts, @node)
    end
    Skep::Kafka::Source.new(**options(**more)).run(@node, handler)
    events
  end

  # Returns the payloads of a topic, at least so many.
  def payloads_of(topic, count)
    found = []
    play({ topics: topic, group: "checker" }) do |batch, node|
      found.concat(batch.payloads)
      node.stop! if found.size >= count
    end
    found
  end

  # Returns what the group receives now, without the message that this method adds.
  def redelivered(topic = "orders")
    feed(topic, [["k", "last", 0]])
    found = []
    play({ topics: topic }) { |batch, node| found.concat(batch.payloads) && node.stop! }
    found - %w[last]
  end

  def named(events, name) = events.filter_map { |known, facts| facts if known == name }
end
