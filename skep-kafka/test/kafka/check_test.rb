# frozen_string_literal: true

require "test_helper"
require "socket"
require "stringio"
require "tmpdir"
require "skep/cli"

# What `skep check` prints of Kafka sources.
class KafkaCheckTest < Skep::TestCase
  test "check shows the consumer groups and their members" do
    kafka = '"bootstrap.servers": "k:1"'
    code, out, err = check(<<~RUBY)
      require "skep/kafka"
      Skep.swarm "billing", nodes: 3 do |swarm|
        common = { group: "orders", topics: %w[a b], dead_letter_topic: "dead" }
        swarm.work(Skep::Kafka::Source.new(kafka: { #{kafka} }, **common)) { |batch| batch }
        swarm.work(nodes: 1) { |node| node.ready! }
        swarm.work(Skep::Kafka::Source.new(kafka: { #{kafka}, "group.instance.id": nil }, **common),
                   nodes: 1) { |batch| batch }
        swarm.work(Skep::Kafka::Source.new(kafka: { #{kafka}, "group.instance.id": "host" },
                                           leave_on_stop: true, **common),
                   nodes: 1) { |batch| batch }
      end
    RUBY

    host = "billing-#{Socket.gethostname}"
    assert_equal 0, code
    assert_empty err.lines.grep_v(/warning: librdkafka/) # an old one is told
    assert_equal <<~TEXT, out.lines.drop(1).join
      #{"  "}work orders: 3 nodes
      #{"  "}work work: 1 node
      #{"  "}work orders-2: 1 node
      #{"  "}work orders-3: 1 node
      #{"  "}consumer group orders, topics a, b: static members #{host}-0 to #{host}-2, which keep their places at a stop
      #{"  "}consumer group orders, topics a, b: dynamic members
      #{"  "}consumer group orders, topics a, b: static members host-5, which leave at a stop
    TEXT
  end

  test "check names the topics without dead letters, whose messages are retried for ever" do
    code, out, err = check(<<~'RUBY')
      require "skep/kafka"
      common = { kafka: { "bootstrap.servers": "k:1" }, group: "g" }
      Skep.swarm "billing", nodes: 1 do |swarm|
        swarm.work(Skep::Kafka::Source.new(**common, topics: "a")) { |batch| batch }
        swarm.work(Skep::Kafka::Source.new(**common, topics: "b", dead_letter_topic: "d")) { nil }
        several = Skep::Kafka::Source.new(**common, dead_letter_topic: "d") do |source|
          source.topic("c") { nil }
          source.topic("e", dead_letter_topic: nil, ordered_by: :key) { nil }
        end
        swarm.work(several)
      end
    RUBY

    assert_equal 0, code
    assert_empty err.lines.grep_v(/warning: librdkafka/) # an old one is told
    endless = "a message that keeps failing is retried until it succeeds, and holds up its"
    assert_equal ["  no dead_letter_topic for a: #{endless} partition\n",
                  "  no dead_letter_topic for e: #{endless} key\n"], out.lines.grep(/dead_letter/)
  end

  test "check suggests the option of a source that a misspelt one was meant to be" do
    source = 'Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k:1" }, group: "g", ' \
             'topics: "a", max_attempt: 3)'
    code, _, err = check("require 'skep/kafka'\nSkep.swarm('a', node: 1) { |swarm| " \
                         "swarm.work(#{source}) { nil } }")
    assert_equal 78, code
    assert_match(/unknown option: node \(did you mean nodes\?\)/, err)
    assert_match(/has no option max_attempt \(did you mean max_attempts\?\)/, err)
  end

  test "check warns of an event whose name is nearly one of Kafka's" do
    code, _, err = check(<<~RUBY)
      require "skep/kafka"
      Skep.swarm("a") do |one|
        %i[kafka_rebalanced kafka_error].each { |name| one.on(name) { } }
        one.work { }
      end
    RUBY
    assert_equal 0, code
    assert_match(/: on\(:kafka_rebalanced\): .* did you mean kafka_rebalance\?\n\z/, err)
    assert_equal 1, err.lines.size
  end

  private

  def check(text)
    Dir.mktmpdir do |directory|
      File.write("#{directory}/swarm.rb", text)
      out, err = StringIO.new, StringIO.new
      code = Skep::CLI.start(["check", "#{directory}/swarm.rb"], out:, err:)
      return [code, out.string, err.string]
    end
  end
end
