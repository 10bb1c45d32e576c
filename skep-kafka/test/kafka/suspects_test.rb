# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "skep/kafka/testing"

# How many messages run alone, and how many nodes crash, until the message is found that crashes its
# nodes. Each test run is a node, which a NoMemoryError of the handler ends.
class KafkaSuspectsTest < Skep::TestCase
  COUNT = 3_000
  BAD = 1_500
  private_constant :COUNT, :BAD

  def setup
    super
    @suspects = Skep::Swarm::IPC::CrashSuspects.new
    @crashes = 0
    @handed = [] # offsets, of each batch
    @done = []
  end

  %i[partition key].each do |ordered_by|
    test "only the message at which a node crashed runs alone, in order by #{ordered_by}" do
      quarantined = find(ordered_by:) { |batch| batch.each { |message| use(message) } }

      assert_equal [3, [BAD]], [@crashes, quarantined]
      assert_equal [[BAD]] * 2, alone
      assert_equal [*0...COUNT] - [BAD], @done.sort
    end

    # The handler uses a message when it has got 30 more.
    test "a message is found that crashes its node at a later one, in order by #{ordered_by}" do
      quarantined = find(ordered_by:) do |batch|
        waiting = []
        batch.each do |message|
          waiting << message
          use(waiting.shift) if waiting.size > 30
        end
        waiting.each { |message| use(message) }
      end

      assert_equal [5, [BAD]], [@crashes, quarantined]
      assert_equal [*0...COUNT] - [BAD], @done.sort
    end
  end

  test "all messages of a batch run alone if none is named" do
    quarantined = find { |batch| batch.messages.each { |message| use(message) } }

    assert_equal [4, [BAD]], [@crashes, quarantined]
    assert_empty alone.flatten - [*BAD...BAD + 500]
    assert_equal [*0...COUNT] - [BAD], @done.sort
  end

  test "the suspects of a batch have one turn among the other partitions" do
    @suspects.record_crash([["t/0/0-499", nil]], 0, 1.0, "SIGSEGV")
    messages = Array.new(2_000) do |n|
      { partition: n / 1_000, offset: n % 1_000, payload: "p" }
    end
    turns = []
    run_node(messages) { |batch| turns << [batch.partition, batch.size] }

    runs = turns.chunk { |one| one }.map { |one, some| [*one, some.size] }
    assert_equal [[0, 1, 500], [0, 500, 1]], (runs.select { |partition,| partition.zero? })
  end

  private

  # Runs one node after another, until one doesn't crash. Returns the quarantined offsets.
  def find(**options, &handler)
    until (result = run_node(left, **options) { |batch| handle(batch, &handler) })
      flunk "it isn't found" if (@crashes += 1) > 10
    end
    result.node.events_named(:message_quarantined).map { |facts| facts[:offset] }
  end

  def left
    ([*0...COUNT] - @done).map { |n| { offset: n, key: (n % 100).to_s, payload: "p" } }
  end

  def handle(batch)
    offsets = batch.to_a.map(&:offset)
    @handed << offsets
    yield batch
    @done.concat(offsets)
  end

  def use(message) = message.offset == BAD && raise(NoMemoryError)
  def alone = @handed.select(&:one?)

  # Returns nil if the node crashes.
  def run_node(messages, **options)
    node = Skep::Kafka::Testing.node
    node.crash_suspects.__receive("added" => @suspects.to_plain)
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "t", dead_letter_topic: "dead", **options)
    Skep::Kafka::Testing.run(source, messages, node:) { |batch, _| yield batch }
  rescue NoMemoryError
    in_flight = [node.in_flight_texts.last, node.current_items.last]
    @suspects.record_crash([in_flight], 0, Skep::OS.now, "SIGSEGV")
    nil
  end
end
