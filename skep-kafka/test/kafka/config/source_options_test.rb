# frozen_string_literal: true

require "kafka/support/kafka_case"

# The errors and facts of a source for its options. No broker runs.
class SourceOptionsTest < KafkaCase
  GOOD = { kafka: { "bootstrap.servers": "kafka-1:9092" }, group: "billing",
           topics: "orders" }.freeze
  private_constant :GOOD

  test "accepts brokers, a group and a topic" do
    assert_empty errors
    assert_empty errors(topics: %w[orders ^invoices-.*], threads: 4, dead_letter_topic: "dead",
                        max_wait: 0.5)
    assert_empty errors(connect_timeout: nil)
    assert_empty errors(topics: ["^orders\\.(eu|us)$", "^[[:alpha:]]x{1,3}$"],
                        dead_letter_topic: "orders.dead")
    assert_empty errors(topics: "^.*")
    assert_equal 4, source(threads: 4).threads
  end

  test "accepts callables that can be called with what they get, and a topic's Symbol" do
    assert_empty errors(filter: :itself.to_proc, deserializer: ->(payload, *) { payload },
                        serializer: JSON.method(:generate), on_revoked: proc { |topic| topic },
                        ordered_by: ->(message, more = 1) { [message, more] })
    assert_equal "dead", source(dead_letter_topic: :dead).facts[:dead_letter_topic]
    assert_empty errors(retry_for: Float::INFINITY, dead_letter_topic: "dead")
  end

  test "refuses callables that can't be called with what they get" do
    { filter: ->(one, other) { one && other }, ordered_by: -> { 1 },
      deserializer: ->(payload) { payload }, serializer: ->(value, headers:) { [value, headers] },
      on_assigned: ->(topic) { topic } }.each do |name, callable|
      assert_match(/\A#{name} must be .*callable that (takes|returns) a/,
                   errors(name => callable).join("\n"))
    end
  end

  test "leave_on_stop defaults to true in a Kubernetes pod, unless the user names its members" do
    named = { kafka: { **GOOD[:kafka], "group.instance.id": "web3" } }
    assert leave_on_stop?
    refute leave_on_stop?(kubernetes: nil)
    refute leave_on_stop?(leave_on_stop: false)
    refute leave_on_stop?(**named)
    assert leave_on_stop?(**named, leave_on_stop: true)
  end

  test "reports every mistake at once" do
    options = { kafka: {}, threads: 0, max_messages: 1.5, topic: "orders" }
    found = Skep::Kafka::Source.new(**options).errors
    assert_errors found, "has no option topic (did you mean topics?)",
                  "bootstrap.servers is missing",
                  "group must be the name of a consumer group (got nil)",
                  "topics must name at least one topic",
                  "threads must be a whole number from 1 to 1000 (got 0). The threads of a node " \
                  "share one processor; for more of them add nodes.",
                  "max_messages must be a whole number from 1 (got 1.5)"
  end

  test "unknown options are one sentence, with the list of options once where no name is near" do
    near = Skep::Kafka::Source.new(**GOOD, max_attempt: 3, treads: 2).errors
    assert_equal ["Skep::Kafka::Source has no option max_attempt (did you mean max_attempts?), " \
                  "treads (did you mean threads?)"], near
    far = Skep::Kafka::Source.new(**GOOD, max_attempt: 3, colour: 1, zebra: 2).errors
    assert_equal 1, far.size
    assert_match(/max_attempts\?\), colour, zebra\. Its options: kafka, group/, far.first)
  end

  test "warns of a producer whose messages no broker confirms" do
    [{ producer: { acks: 0 } }, { producer: { "request.required.acks": "0" } },
     { kafka: { **GOOD[:kafka], acks: 0 } }].each do |unconfirmed|
      source = Skep::Kafka::Source.new(**GOOD, **unconfirmed)
      assert_empty source.errors
      assert_match(/acks is 0, so no broker confirms/, source.warnings.join)
    end
    confirmed = Skep::Kafka::Source.new(**GOOD, producer: { acks: 1 })
    refute_match(/acks is 0/, confirmed.warnings.join)
    several = Skep::Kafka::Source.new(**GOOD.except(:topics), producer: { acks: 0 }) do |source|
      source.topic("orders") { |batch, _| batch.each { |message| message } }
    end
    assert_match(/acks is 0/, several.warnings.join)
  end

  {
    { threads: 100_000 } => /threads must be a whole number from 1 to 1000 \(got 100000\)/,
    { topics: "or ders" } => /topics has an invalid name \("or ders"\)/,
    { topics: %w[orders returns orders] } => /topics names orders twice/,
    { topics: ".." } => /topics has an invalid name \("\.\."\)/,
    { topics: "^(orders" } => /topics has an invalid pattern \("\^\(orders"\)/,
    { topics: "^(?!orders)" } => /topics has an invalid pattern .* POSIX extended/,
    { group: "bill\0ing" } => /group must be the name of a consumer group/,
    { commit_interval: 0 } => /commit_interval must be seconds from 0.001 to 86400 \(got 0\)/,
    { commit_interval: 0.0001 } => /commit_interval must be seconds .* \(got 0.0001\)/,
    { commit_interval: 100_000 } => /commit_interval must be seconds .* \(got 100000\)/,
    { commit_interval: Float::INFINITY } => /commit_interval must be seconds .* \(got Infinity\)/,
    { retry_backoff: Float::NAN } => /retry_backoff must be seconds above 0 \(got NaN\)/,
    { retry_backoff: Float::INFINITY } => /retry_backoff must be seconds above 0 \(got Infinity\)/,
    { connect_timeout: Float::INFINITY } => /connect_timeout must be seconds .* \(got Infinity\)/,
    { max_wait: Float::INFINITY } => /max_wait must be seconds from 0 \(got Infinity\)/,
    { dead_letter_topic: true } => /dead_letter_topic must be a topic's name \(got true\)/,
    { connect_timeout: 0 } =>
      /connect_timeout must be seconds above 0, or nil to wait forever \(got 0\)/,
    { leave_on_stop: :always } => /leave_on_stop must be true, false, or nil \(got :always\)/,
    { offsets: :postgres } => /offsets must be :kafka or :database \(got :postgres\)/,
    { offsets: :database, ordered_by: :key } => /offsets: :database needs ordered_by: :partition/,
    { offsets: :database, transactional: true } =>
      /offsets: :database can't be combined with transactional/,
    { max_wait: -1 } => /max_wait must be seconds from 0 \(got -1\)/,
    { max_attempts: 3 } => /max_attempts needs dead_letter_topic/,
    { dead_letter_topic: "orders" } =>
      /dead_letter_topic must be a topic that this source doesn't read \(got "orders"\)\. Each/,
    { topics: "^orders\\.", dead_letter_topic: "orders.dead" } =>
      /dead_letter_topic must be a topic that this source doesn't read \(got "orders.dead"\)/,
    { topics: %w[views ^.*], dead_letter_topic: :dead } =>
      /dead_letter_topic must be a topic .* \(got "dead"\)/,
    { retry_backoff: 5, retry_backoff_max: 2 } =>
      /retry_backoff_max must be seconds from retry_backoff on \(got 2\)/,
    { retry_for: -1 } => /retry_for must be seconds from 0, or nil \(got -1\)/,
    { on_poison: :bury } => /on_poison must be one of :dead_letter, :pause, :skip \(got :bury\)/,
    { on_poison: :dead_letter } =>
      /on_poison: :dead_letter needs dead_letter_topic\. Set it, or choose/,
    { ordered_by: :value } =>
      /ordered_by must be :partition, :key or a callable that returns a message/,
    { max_out_of_order: 0 } => /max_out_of_order must be a whole number from 1 \(got 0\)/,
    { filter: "x" } => /filter must be a callable that takes a message \(got "x"\)/,
    { deserializer: :avro } =>
      /deserializer must be :json, or a callable that takes a payload and headers \(got :avro\)/,
    { serializer: :avro } =>
      /serializer must be :json, or a callable that takes a value and headers \(got :avro\)/,
    { dead_letter_topic: "no name" } => /dead_letter_topic must be a topic's name/,
    { kafka: "kafka-1:9092" } => /kafka must be a hash of librdkafka's settings/
  }.each do |wrong, sentence|
    test "refuses #{wrong}" do
      assert_match sentence, errors(**wrong).join("\n")
      assert_equal 1, errors(**wrong).size
    end
  end

  {
    { "group.protocol": "consumer", "session.timeout.ms": 6000 } =>
      /session.timeout.ms can't be set with group.protocol consumer\. Set the broker's/,
    { "group.protocol": "consumer", "heartbeat.interval.ms": 100 } =>
      /heartbeat.interval.ms can't be set with group.protocol consumer/,
    { "group.protocol": "Consumer", "partition.assignment.strategy": "range" } =>
      /partition.assignment.strategy can't be .* Set group.remote.assignor/,
    { "group.protocol": "consumer", "group.protocol.type": "consumer" } =>
      /group.protocol.type can't be set/,
    { "group.protocol": "newest" } => /Invalid value "newest" for .*"group.protocol"/,
    { "group.remote.assignor": "uniform" } => /group.remote.assignor needs group.protocol/,
    { "partition.assignment.strategy": "cooperative-sticky, range" } =>
      /can't have cooperative-sticky beside others/,
    { "partition.assignment.strategy": "sticky" } =>
      /must be one of range, .* \(got "sticky"\)/,
    { "max.poll.interval.ms": 30_000 } =>
      /max.poll.interval.ms must be at least session.timeout.ms, 45000 \(got 30000\)/
  }.each do |wrong, sentence|
    test "refuses the settings #{wrong}" do
      found = errors(kafka: { "bootstrap.servers": "k", **wrong })
      assert_match sentence, found.join("\n")
      assert_equal 1, found.size
    end
  end

  test "accepts the settings of both group protocols" do
    [{ "group.protocol": "consumer", "group.remote.assignor": "uniform" },
     { "group.protocol": "classic", "session.timeout.ms": 6000, "max.poll.interval.ms": 6000 },
     { "partition.assignment.strategy": "range,roundrobin" },
     { "partition.assignment.strategy": "cooperative-sticky" }].each do |right|
      assert_empty errors(kafka: { "bootstrap.servers": "k", **right })
    end
  end

  test "on_poison defaults to the dead letter topic, or to a pause without one" do
    assert_equal :pause, source.facts[:on_poison]
    assert_equal :dead_letter, source(dead_letter_topic: "dead").facts[:on_poison]
    assert_equal :skip, source(dead_letter_topic: "dead", on_poison: :skip).facts[:on_poison]
  end

  test "ordered_by accepts a callable, which facts show as given" do
    assert_equal :partition, source.facts[:ordered_by]
    source = source(ordered_by: ->(message) { message.key }, filter: :itself.to_proc)
    assert_empty source.errors
    assert_equal %w[given given], source.facts.values_at(:ordered_by, :filter)
  end

  test "librdkafka checks settings, and skep refuses those that it sets itself" do
    found = errors(kafka: { "bootstrap.servers": "k", "no.such": 1, "session.timeout.ms": "long",
                            "group.id": "g", "enable.auto.offset.store": true,
                            "enable.partition.eof": true })
    assert_errors found, "the setting no.such (No such configuration property",
                  "the setting session.timeout.ms (Invalid value",
                  "group.id can't be set. Set the source's group instead.",
                  "enable.partition.eof can't be set. skep finds the end",
                  "enable.auto.offset.store can't be set"
  end

  test "shows facts without secrets" do
    source = source(kafka: { "bootstrap.servers": "SASL_SSL://me:tiger@kafka-1:9092",
                             "sasl.password": "lily", "ssl.key.password": "rose" })
    assert_equal "SASL_SSL://***@kafka-1:9092", source.facts[:brokers]
    refute_match(/tiger|lily|rose/, [source.facts, source.inspect, source.errors].inspect)
    assert_equal({ group: "billing", topics: ["orders"], threads: 1, max_messages: 500 },
                 source.facts.slice(:group, :topics, :threads, :max_messages))
  end

  test "a source can be built without the gem, and reports that it is missing" do
    nowhere = { "GEM_PATH" => "/nowhere", "GEM_HOME" => "/nowhere" }
    out, err, status = run_program(<<~RUBY, env: nowhere)
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k" }, group: "g", topics: "t")
      puts source.errors
    RUBY
    assert_equal "", err
    assert_match(/\ASkep::Kafka needs the gem karafka-rdkafka.*run `bundle install`\.\n\z/, out)
    assert_predicate status, :success?
  end

  private

  # Asserts that there are exactly these errors: each part is in one sentence.
  def assert_errors(found, *parts)
    parts.each do |part|
      assert_equal 1, found.count { |sentence| sentence.include?(part) }, "#{part} in #{found}"
    end
    assert_equal parts.size, found.size, found
  end

  def leave_on_stop?(kubernetes: "10.0.0.1", **more)
    before, ENV["KUBERNETES_SERVICE_HOST"] = ENV["KUBERNETES_SERVICE_HOST"], kubernetes
    Skep::Kafka::Config::SourceOptions.new(**GOOD, **more).leave_on_stop
  ensure
    ENV["KUBERNETES_SERVICE_HOST"] = before
  end

  def source(**more) = Skep::Kafka::Source.new(**GOOD, **more)
  def errors(**more) = source(**more).errors
end
