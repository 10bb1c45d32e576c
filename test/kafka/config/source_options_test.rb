# frozen_string_literal: true

require "kafka/support/kafka_case"

# What a source says about its options, without any broker.
class SourceOptionsTest < KafkaCase
  GOOD = { kafka: { "bootstrap.servers": "kafka-1:9092" }, group: "billing",
           topics: "orders" }.freeze
  private_constant :GOOD

  test "is content with brokers, a group and a topic" do
    assert_empty errors
    assert_empty errors(topics: %w[orders ^invoices-.*], threads: 4, dead_letter: "dead",
                        max_wait: 0.5)
    assert_empty errors(connect_timeout: nil)
    assert_empty errors(topics: ["^orders\\.(eu|us)$", "^[x"], dead_letter: "orders.dead")
    assert_empty errors(topics: "^.*")
    assert_equal 4, source(threads: 4).threads
  end

  test "has a sentence for every mistake at once" do
    found = Skep::Kafka::Source.new(kafka: {}, threads: 0, batch: 1.5, topic: "orders").errors
    assert_says found, "has no option topic: it takes kafka, group, topics",
                "kafka: lacks bootstrap.servers", "group: must name", "topics: must name at least",
                "threads: must be a whole number, 1 or more, not 0",
                "batch: must be a whole number, 1 or more, not 1.5"
  end

  {
    { topics: "or ders" } => /topics: "or ders" is no name of a topic/,
    { commit_every: 0 } => /commit_every: must be seconds, more than 0, not 0/,
    { connect_timeout: 0 } => /connect_timeout: must be seconds, more than 0, or nil to wait for/,
    { max_wait: -1 } => /max_wait: must be seconds, 0 or more, not -1/,
    { attempts: 3 } => /attempts: needs dead_letter:/,
    { dead_letter: "orders" } => /dead_letter: must be a topic that this source doesn't read/,
    { topics: "^orders\\.", dead_letter: "orders.dead" } =>
      /dead_letter: must be a topic that this source doesn't read .*, not "orders.dead"/,
    { topics: %w[views ^.*], dead_letter: :dead } => /dead_letter: must be a topic .*, not :dead/,
    { retry_for: -1 } => /retry_for: must be seconds, 0 or more, or nil, not -1/,
    { poison: :bury } => /poison: must be one of :dead_letter, :pause, :skip, not :bury/,
    { poison: :dead_letter } => /poison: :dead_letter needs dead_letter:, the topic to write to/,
    { ordered_by: :value } => /ordered_by: must be :partition, :key or a callable that gives a/,
    { ahead: 0 } => /ahead: must be a whole number, 1 or more, not 0/,
    { filter: "x" } => /filter: must be a callable that takes a message, not "x"/,
    { dead_letter: "no name" } => /dead_letter: must be a topic's name/,
    { kafka: "kafka-1:9092" } => /kafka: takes librdkafka's settings as a hash/
  }.each do |wrong, sentence|
    test "refuses #{wrong}" do
      assert_match sentence, errors(**wrong).join("\n")
      assert_equal 1, errors(**wrong).size
    end
  end

  {
    { "group.protocol": "consumer", "session.timeout.ms": 6000 } =>
      /session.timeout.ms can't be set with group.protocol: consumer: the broker's/,
    { "group.protocol": "consumer", "heartbeat.interval.ms": 100 } =>
      /heartbeat.interval.ms can't be set with group.protocol: consumer/,
    { "group.protocol": "Consumer", "partition.assignment.strategy": "range" } =>
      /partition.assignment.strategy can't be .*: group.remote.assignor chooses how/,
    { "group.protocol": "consumer", "group.protocol.type": "consumer" } =>
      /group.protocol.type can't be set/,
    { "group.protocol": "newest" } => /Invalid value "newest" for .*"group.protocol"/,
    { "group.remote.assignor": "uniform" } => /group.remote.assignor needs group.protocol/,
    { "partition.assignment.strategy": "cooperative-sticky, range" } =>
      /can't have cooperative-sticky beside others/,
    { "partition.assignment.strategy": "sticky" } =>
      /"sticky" isn't one of librdkafka's: take range/,
    { "max.poll.interval.ms": 30_000 } => /max.poll.interval.ms, 30000, must not be less than/
  }.each do |wrong, sentence|
    test "refuses the settings #{wrong}" do
      found = errors(kafka: { "bootstrap.servers": "k", **wrong })
      assert_match sentence, found.join("\n")
      assert_equal 1, found.size
    end
  end

  test "takes the settings of either protocol" do
    [{ "group.protocol": "consumer", "group.remote.assignor": "uniform" },
     { "group.protocol": "classic", "session.timeout.ms": 6000, "max.poll.interval.ms": 6000 },
     { "partition.assignment.strategy": "range,roundrobin" },
     { "partition.assignment.strategy": "cooperative-sticky" }].each do |right|
      assert_empty errors(kafka: { "bootstrap.servers": "k", **right })
    end
  end

  test "sets a message that crashes its nodes aside as far as it may" do
    assert_equal :pause, source.facts[:poison]
    assert_equal :dead_letter, source(dead_letter: "dead").facts[:poison]
    assert_equal :skip, source(dead_letter: "dead", poison: :skip).facts[:poison]
  end

  test "goes by keys where that is wanted, and shows no code" do
    assert_equal :partition, source.facts[:ordered_by]
    source = source(ordered_by: ->(message) { message.key }, filter: :itself.to_proc)
    assert_empty source.errors
    assert_equal %w[given given], source.facts.values_at(:ordered_by, :filter)
  end

  test "leaves names and values of settings to librdkafka, and keeps those that are skep's" do
    found = errors(kafka: { "bootstrap.servers": "k", "no.such": 1, "session.timeout.ms": "long",
                            "group.id": "g", "enable.auto.offset.store": true,
                            "enable.partition.eof": true })
    assert_says found, "the setting no.such: No such configuration property",
                "the setting session.timeout.ms: Invalid value",
                "group.id can't be set: give group: to the source",
                "enable.partition.eof can't be set: skep knows of the end",
                "enable.auto.offset.store can't be set"
  end

  test "shows facts without secrets" do
    source = source(kafka: { "bootstrap.servers": "SASL_SSL://me:tiger@kafka-1:9092",
                             "sasl.password": "lily", "ssl.key.password": "rose" })
    assert_equal "SASL_SSL://***@kafka-1:9092", source.facts[:brokers]
    refute_match(/tiger|lily|rose/, [source.facts, source.inspect, source.errors].inspect)
    assert_equal({ group: "billing", topics: ["orders"], threads: 1, batch: 500 },
                 source.facts.slice(:group, :topics, :threads, :batch))
  end

  test "says which gem is missing, and needs none before it is used" do
    nowhere = { "GEM_PATH" => "/nowhere", "GEM_HOME" => "/nowhere" }
    out, err, status = run_program(<<~RUBY, env: nowhere)
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k" }, group: "g", topics: "t")
      puts source.errors
    RUBY
    assert_equal "", err
    assert_match(/\ASkep::Kafka needs the gem karafka-rdkafka.*run `bundle install`\n\z/, out)
    assert_predicate status, :success?
  end

  private

  # Exactly these, each in one of the sentences.
  def assert_says(found, *parts)
    parts.each do |part|
      assert_equal 1, found.count { |sentence| sentence.include?(part) }, "#{part} in #{found}"
    end
    assert_equal parts.size, found.size, found
  end

  def source(**more) = Skep::Kafka::Source.new(**GOOD, **more)
  def errors(**more) = source(**more).errors
end
