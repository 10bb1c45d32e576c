# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

class KafkaTestingTest < Skep::TestCase
  Testing = Skep::Kafka::Testing

  test "builds a Batch from payloads, Hashes and Messages" do
    noon = Time.utc(2026, 1, 1, 12)
    batch = Testing.batch("orders", ["a", { key: :k, payload: "p", headers: { trace: 1 } },
                                     { payload: nil, offset: 20, timestamp: noon }, "b"],
                          partition: 3, offset: 7)
    assert_kind_of Skep::Kafka::Batch, batch
    assert_equal [[7, nil, "a"], [8, "k", "p"], [20, nil, nil], [21, nil, "b"]],
                 batch.map { |one| [one.offset, one.key, one.payload] }
    assert_equal({ "trace" => "1" }, batch.messages[1].headers)
    assert_equal noon, batch.messages[2].timestamp
    assert_equal ["orders", 3, 7, 21],
                 [batch.topic, batch.partition, batch.first_offset, batch.last_offset]
    assert_equal [Encoding::BINARY], batch.map { |one| one.payload&.encoding }.compact.uniq
  end

  test "rejects a field that messages don't have" do
    error = assert_raises(ArgumentError) { Testing.batch("orders", [{ value: "p" }]) }
    assert_match(/no field value/, error.message)
  end

  test "FakeNode records what it is given, and never waits" do
    node = Testing.node(id: 3)
    batch = Testing.batch("orders", %w[a b], node:)
    stopped = []
    node.on_stop { stopped << true }
    batch.each { |message| node.event(:seen, offset: message.offset) }
    node.busy(for: 60) { node.unhealthy!("no disk") }
    node.producer.produce("out", "p", key: "k")

    assert_equal [3, false, false], [node.id, node.wait(3600), node.stopping?]
    assert_equal [[:seen, :info, { offset: 0 }], [:seen, :info, { offset: 1 }]], node.events
    assert_equal [[0, 1, nil], [60], ["no disk"]],
                 [node.current_items, node.busy_seconds, node.unhealthy_reasons]
    assert_equal [%w[out p k]], node.produced.map { |one| [one.topic, one.payload, one.key] }
    node.stop!
    assert_equal [true, true, [true]], [node.stopping?, node.wait(3600), stopped]
  end

  test "FakeNode has each public method of Node but leave" do
    names = Skep::Swarm::Node.public_instance_methods(false)
    names = names.reject { |name| name.start_with?("__") }
    assert_empty names - Skep::Kafka::Testing::FakeNode.public_instance_methods - [:leave]
  end

  test "a swarm file's around_handler and on_error blocks run with its handlers" do
    app = Testing.load(file(<<~RUBY))
      require "skep/kafka"
      Around = Thread.current[:around] = []
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k:1" }, group: "g", topics: "t",
                                       dead_letter_topic: "d", max_attempts: 1, retry_for: nil)
      Skep.swarm "app" do |swarm|
        swarm.around_handler { |batch, _, handler| Around << batch.size; handler.call }
        swarm.on_error { |error, context| Around << [error.class, *context.values_at(:topic, :offset, :attempt)] }
        swarm.work(source) { |_, _| raise KeyError, "bad" }
      end
    RUBY
    app.work.run(%w[a])

    assert_equal [1, [KeyError, "t", 0, 1]], Thread.current[:around]
  end

  test "run applies the source's batches, retries and dead letters without waiting" do
    options = { max_messages: 3, dead_letter_topic: "dead", max_attempts: 3, retry_backoff: 3600 }
    outcome = run_handler(**options) do |batch, _|
      batch.each { |message| raise "bad" if message.payload == "4" }
    end
    assert_equal [0, 1, 2, 3, 5, 6, 7, 8, 9], outcome.done.map(&:offset)
    assert_equal [[3, 5, 1], [3, 5, 2]], # the third attempt is alone
                 outcome.retried.map { |one| one.values_at(:offset, :last_offset, :attempt) }
    assert_equal [["dead", "4", "3", "RuntimeError: bad"]],
                 outcome.dead_letters.map { |one|
                   [one.topic, one.payload, *one.headers.values_at("skep.attempts", "skep.error")]
                 }
    assert_equal [{ ["orders", 0] => 10 }, [4], [], false],
                 [outcome.committed, outcome.dead_lettered.map(&:offset), outcome.pending,
                  outcome.clean?]
    assert_equal [10, 2, 3, 1],
                 outcome.node.work[:totals].values_at("messages", "retries", "failures",
                                                      "dead_letters")
  end

  test "run gives up a batch that never succeeds, and stops if the handler stops the node" do
    tries = 0
    outcome = run_handler(max_messages: 4) do |batch, _|
      raise "bad" if batch.first_offset == 4 && (tries += 1)
    end
    assert_equal [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9], 11],
                 [outcome.done.map(&:offset), outcome.pending.map(&:offset), tries]

    outcome = run_handler(max_messages: 4) { |_, node| node.stop! }
    assert_equal [[0, 1, 2, 3], 6, true], [outcome.done.map(&:offset), outcome.pending.size,
                                           outcome.node.stopping?]
  end

  test "a deserializer gives messages their values" do
    batch = Testing.batch("orders", ['{"n":1}', nil], deserializer: :json)
    assert_equal [{ "n" => 1 }, nil], batch.map(&:value)
    assert_equal '{"n":1}', batch.first.payload
    error = assert_raises(Skep::Kafka::InvalidPayload) do
      Testing.batch("orders", ["{"], deserializer: :json)
    end
    assert_kind_of Skep::Kafka::NonRetryable, error

    seen = []
    outcome = run_handler(deserializer: ->(payload, _) { Integer(payload) * 2 }) do |batch, _|
      seen.concat(batch.map(&:value))
    end
    assert_equal [(0...10).map { |n| n * 2 }, true], [seen, outcome.clean?]
  end

  test "a serializer makes the payloads of what is produced, but not of dead letters" do
    [false, true].each do |transactional|
      chosen = { serializer: :json, transactional:, dead_letter_topic: "dead", max_attempts: 1 }
      outcome = run_handler(**chosen, max_messages: 1) do |batch, node|
        raise "bad" if batch.first_offset == 4

        node.producer.produce("out", { "n" => batch.first_offset })
        node.producer.produce("out", nil, key: "k")
      end
      assert_equal ['{"n":0}', nil, '{"n":1}'], outcome.node.produced.first(3).map(&:payload)
      assert_equal ["4"], outcome.dead_letters.map(&:payload)
    end
    node = Testing.node(serializer: ->(value, headers) { "#{value} #{headers}" })
    node.producer.produce_sync("out", 1, headers: { "a" => "b" })
    assert_equal "1 #{{ "a" => "b" }}", node.produced.first.payload
    assert_raises(ArgumentError) { Testing.node(serializer: :avro) }
  end

  test "a deserializer that raises is called once a try, and for no other message" do
    calls = []
    failing = lambda do |payload, _|
      calls << payload
      raise IOError, "away" if calls.size < 3

      payload
    end
    seen = []
    outcome = run_handler(deserializer: failing) { |batch, _| seen << batch.map(&:value) }
    assert_equal %w[0 0], calls.first(2)
    assert_equal [["0"], ("1".."9").to_a], seen
    assert_empty outcome.pending
  end

  test "run continues after a handler that marks all and raises" do
    raised = false
    outcome = run_handler(max_messages: 5) do |batch, _|
      batch.mark(batch.last_offset)
      raise "late" unless raised.tap { raised = true }
    end
    assert_equal [10, 1], [outcome.done.size, outcome.retried.size]
  end

  test "by key, an unreadable payload delays only the later messages of its key" do
    messages = Array.new(12) { |n| { key: n % 3, payload: n } }
    wrong = ->(payload, _) { payload == "4" ? raise("bad") : payload.to_i }
    seen = []
    outcome = Testing.run(source(ordered_by: :key, deserializer: wrong), messages) do |batch, _|
      seen.concat(batch.map(&:value))
    end
    assert_equal({ 0 => [0, 3, 6, 9], 1 => [1], 2 => [2, 5, 8, 11] }, seen.group_by { |n| n % 3 })
    assert_equal [4, 7, 10], outcome.pending.map(&:offset)
    assert_equal [4], outcome.retried.map { |one| one[:offset] }.uniq
  end

  test "run gives up a batch whose deserializer or filter always raises" do
    { deserializer: ->(payload, _) { Integer(payload) == 4 ? raise("bad") : 1 },
      filter: ->(message) { message.payload == "4" ? raise("bad") : true } }.each do |name, wrong|
      outcome = run_handler(max_messages: 4, name => wrong) { nil }
      assert_equal [0, 1, 2, 3], outcome.done.map(&:offset)
      assert_equal [4], outcome.retried.map { |one| one[:offset] }.uniq
    end
  end

  test "run supports mark, pause, seek, filter and ordered_by" do
    tries = 0
    outcome = run_handler(max_messages: 5) do |batch, _|
      batch.each do |message|
        raise "7" if message.payload == "7" && (tries += 1) == 1

        batch.mark(message)
      end
    end
    assert_equal [[7, 9]], outcome.retried.map { |one| one.values_at(:offset, :last_offset) }
    assert_equal [10, 2], [outcome.done.size, tries]

    seen = []
    run_handler(max_messages: 5) do |batch, _|
      seen << batch.first_offset
      batch.pause(3600) if seen.size == 1
      batch.seek(:beginning) if seen.size == 3
    end
    assert_equal [0, 0, 5, 0, 5], seen

    seen.clear
    run_handler { |batch, _| (seen << batch.size).one? && batch.seek(5) }
    assert_equal [10, 5], seen

    outcome = run_handler(filter: ->(message) { message.payload.to_i.even? }) { nil }
    assert_equal [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]],
                 [outcome.done.map(&:offset), outcome.filtered.map(&:offset)]

    keyed = Hash.new { |all, key| all[key] = [] }
    messages = Array.new(30) { |n| { key: n % 4, payload: n } }
    outcome = Testing.run(source(ordered_by: :key, threads: 3, max_messages: 4),
                          messages) do |batch, _|
      batch.each { |message| keyed[message.key] << message.payload.to_i }
    end
    assert_predicate outcome, :clean?
    assert_equal (0...4).to_h { |key| [key.to_s, (key...30).step(4).to_a] }, keyed.sort.to_h
  end

  test "run records produced messages, and only committed ones of a transaction" do
    { false => 14, true => 10 }.each do |transactional, count|
      tries = 0
      outcome = run_handler(max_messages: 5, transactional:) do |batch, node|
        batch.each do |message|
          node.producer.produce("out", message.payload)
          raise "once" if message.payload == "3" && (tries += 1) == 1
        end
      end
      assert_equal [10, count], [outcome.done.size, outcome.node.produced.size]
    end
  end

  test "reports a pause at its level" do
    node = Testing.node
    Testing.run(source, ["a"], node:, retries: 1) { |batch, _| batch.pause(3, level: :debug) }

    assert_includes node.events.map { |name, level, _| [name, level] }, %i[kafka_paused debug]
  end

  test "run ends although the handler pauses or seeks back forever" do
    tries = 0
    outcome = run_handler(max_messages: 5) { |batch, _| batch.pause(1) if (tries += 1) }
    assert_equal [[], 10, 11], [outcome.done, outcome.pending.size, tries]
    outcome = run_handler(max_messages: 5) { |batch, _| batch.seek(:beginning) }
    assert_equal 10, outcome.pending.size
  end

  test "run keeps partitions and topics apart, each in order" do
    seen = Hash.new { |all, key| all[key] = [] }
    messages = (0...20).map do |n|
      { topic: n.even? ? "orders" : "refunds", partition: n % 3, payload: n }
    end
    outcome = Testing.run(source(topics: %w[orders refunds], max_messages: 2),
                          messages) do |batch, _|
      seen[[batch.topic, batch.partition]].concat(batch.map(&:offset))
    end
    assert_predicate outcome, :clean?
    assert_equal 6, seen.size
    seen.each_value { |offsets| assert_equal (0...offsets.size).to_a, offsets }
  end

  test "run raises an exception that would end a node, and leaves nothing behind" do
    assert_raises(NoMemoryError) { run_handler { raise NoMemoryError } }
  end

  test "run raises for invalid options" do
    error = assert_raises(Skep::Kafka::ConfigurationError) { run_handler(max_messages: 0) { nil } }
    assert_match(/max_messages must be a whole number/, error.message)
  end

  test "finds the works of a swarm file without running its blocks" do
    app = Testing.load(file(<<~RUBY))
      require "skep/kafka"
      Seen = Thread.current[:seen] = []
      Skep.swarm "app" do |swarm|
        swarm.preload { Seen << :preload }
        swarm.on_boot { |node| Seen << node.id }
        %w[orders refunds].each do |topic|
          source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k:1" }, group: "g-\#{topic}",
                                           topics: topic)
          swarm.work(source) { |batch, _| batch.each { |one| Seen << "\#{topic} \#{one.payload}" } }
        end
        swarm.work { |node| node.wait }
      end
      Seen << :loaded
    RUBY
    seen = Thread.current[:seen]
    assert_equal [:loaded], seen
    app.boot
    assert_predicate app.work("refunds").run(%w[a]), :clean?
    app.work("g-orders").call(Testing.batch("orders", %w[b]))
    assert_equal [:loaded, :preload, 0, "refunds a", "orders b"], seen
    assert_equal 2, app.works.size
    assert_raises(ArgumentError) { app.work }
  ensure
    Thread.current[:seen] = nil
    Object.__send__(:remove_const, :Seen)
  end

  test "the examples of the docs work without the gem and without C" do
    page = File.read("docs/guides/testing.md", encoding: "UTF-8")
    swarm, example = page[/\A.*?^\| /m].scan(/^```ruby\n(.*?)^```/m).flatten
    example = example.sub("minitest/autorun", "minitest")
    %w[1 0].each do |pure|
      out, err, status = run_program(<<~RUBY, env: { "SKEP_PURE" => (pure if pure == "1") })
        #{$LOAD_PATH.grep(/minitest/).map { |path| "$LOAD_PATH << #{path.inspect}" }.join("\n")}
        Dir.chdir(#{File.dirname(file(swarm)).inspect})
        #{example}
        exit Minitest.run([])
      RUBY
      assert_predicate status, :success?, out + err
      assert_match(/3 runs, \d+ assertions, 0 failures, 0 errors/, out)
    end
  end

  test "says how long a partition would have been blocked" do
    alone = run_marked(["bad"])
    others = Array.new(3) { |number| { payload: "x", partition: number + 1 } }
    among = run_marked([{ payload: "bad" }, *others])

    assert_in_delta 300, alone.blocked[["orders", 0]], 2
    assert_equal [["orders", 0]], among.blocked.keys
    assert_operator among.blocked[["orders", 0]], :<, 1
    assert_equal [1, 1], [alone, among].map { |result| result.dead_letters.size }
    assert_empty run_marked(%w[good]).blocked
  end

  private

  # max_attempts: 3, and each message is marked.
  def run_marked(messages)
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "orders", dead_letter_topic: "dead", max_attempts: 3)
    Skep::Kafka::Testing.run(source, messages) do |batch, _|
      batch.each do |message|
        raise ArgumentError if message.payload == "bad"

        batch.mark(message)
      end
    end
  end

  def source(**more)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "kafka:9092" }, group: "g",
                            topics: "orders", **more)
  end

  def run_handler(**options, &handler)
    Testing.run(source(**options), (0..9).map(&:to_s), &handler)
  end

  def file(text)
    @directory ||= Dir.mktmpdir
    File.join(@directory, "swarm.rb").tap { |path| File.write(path, text) }
  end

  def teardown = @directory && FileUtils.remove_entry(@directory)
end
