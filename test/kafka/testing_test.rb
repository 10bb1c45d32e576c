# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"

class KafkaTestingTest < Skep::TestCase
  Testing = Skep::Kafka::Testing

  test "makes a real batch out of payloads, hashes and messages" do
    noon = Time.utc(2026, 1, 1, 12)
    batch = Testing.batch("orders", ["a", { key: :k, payload: "p", headers: { trace: 1 } },
                                     { payload: nil, offset: 20, timestamp: noon }, "b"],
                          partition: 3, offset: 7)
    assert_kind_of Skep::Kafka::Batch, batch
    assert_equal [[7, nil, "a"], [8, "k", "p"], [20, nil, nil], [21, nil, "b"]],
                 batch.map { |one| [one.offset, one.key, one.payload] }
    assert_equal({ "trace" => "1" }, batch.messages[1].headers)
    assert_equal noon, batch.messages[2].timestamp
    assert_equal "orders/3/7-21", batch.label
    assert_equal [Encoding::BINARY], batch.map { |one| one.payload&.encoding }.compact.uniq
  end

  test "refuses what no message has" do
    error = assert_raises(ArgumentError) { Testing.batch("orders", [{ value: "p" }]) }
    assert_match(/no value/, error.message)
  end

  test "has a child that remembers, and never waits" do
    child = Testing.child(id: 3)
    batch = Testing.batch("orders", %w[a b], child:)
    stopped = []
    child.on_stop { stopped << true }
    batch.each { |message| child.event(:seen, offset: message.offset) }
    child.busy(for: 60) { child.unhealthy!("no disk") }
    child.producer.produce("out", "p", key: "k")

    assert_equal [3, false, false], [child.id, child.wait(3600), child.stopping?]
    assert_equal [[:seen, :info, { offset: 0 }], [:seen, :info, { offset: 1 }]], child.events
    assert_equal [[0, 1, nil], [60], ["no disk"]], [child.ats, child.excuses, child.complaints]
    assert_equal [%w[out p k]], child.produced.map { |one| [one.topic, one.payload, one.key] }
    child.stop!
    assert_equal [true, true, [true]], [child.stopping?, child.wait(3600), stopped]
  end

  test "knows all that a child can be asked" do
    spoken = Skep::Swarm::Child.public_instance_methods(false).reject { |name| name.start_with?("__") }
    assert_empty spoken - Skep::Kafka::Testing::FakeChild.public_instance_methods - [:leave]
  end

  test "rehearses batches, retries and dead letters as the source says, without a wait" do
    options = { batch: 3, dead_letter: "dead", attempts: 3, retry_backoff: 3600 }
    outcome = rehearse(**options) do |batch, _|
      batch.each { |message| raise "bad" if message.payload == "4" }
    end
    assert_equal [0, 1, 2, 3, 5, 6, 7, 8, 9], outcome.done.map(&:offset)
    assert_equal [[3, 5, 1], [3, 5, 2], [3, 5, 3], [4, 4, 1], [4, 4, 2]],
                 outcome.retried.map { |one| one.values_at(:offset, :last_offset, :attempt) }
    assert_equal [["dead", "4", "3", "RuntimeError: bad"]],
                 outcome.dead_letters.map { |one|
                   [one.topic, one.payload, *one.headers.values_at("skep.attempts", "skep.error")]
                 }
    assert_equal [{ ["orders", 0] => 10 }, [4], [], false],
                 [outcome.committed, outcome.buried.map(&:offset), outcome.left, outcome.clean?]
    assert_equal [10, 5, 1],
                 outcome.child.work[:totals].values_at("messages", "retries", "dead_letters")
  end

  test "gives up a batch that would be tried for ever, and stops when the handler says so" do
    tries = 0
    outcome = rehearse(batch: 4) do |batch, _|
      raise "bad" if batch.first_offset == 4 && (tries += 1)
    end
    assert_equal [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9], 11],
                 [outcome.done.map(&:offset), outcome.left.map(&:offset), tries]

    outcome = rehearse(batch: 4) { |_, child| child.stop! }
    assert_equal [[0, 1, 2, 3], 6, true], [outcome.done.map(&:offset), outcome.left.size,
                                           outcome.child.stopping?]
  end

  test "knows marks, pauses, jumps, filters and keys" do
    tries = 0
    outcome = rehearse(batch: 5) do |batch, _|
      batch.each do |message|
        raise "7" if message.payload == "7" && (tries += 1) == 1

        batch.mark(message)
      end
    end
    assert_equal [[7, 9]], outcome.retried.map { |one| one.values_at(:offset, :last_offset) }
    assert_equal [10, 2], [outcome.done.size, tries]

    seen = []
    rehearse(batch: 5) do |batch, _|
      seen << batch.first_offset
      batch.pause(3600) if seen.size == 1
      batch.seek(:beginning) if seen.size == 3
    end
    assert_equal [0, 0, 5, 0, 5], seen

    seen.clear
    rehearse { |batch, _| (seen << batch.size).one? && batch.seek(5) }
    assert_equal [10, 5], seen

    outcome = rehearse(filter: ->(message) { message.payload.to_i.even? }) { nil }
    assert_equal [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]],
                 [outcome.done.map(&:offset), outcome.filtered.map(&:offset)]

    keyed = Hash.new { |all, key| all[key] = [] }
    messages = Array.new(30) { |n| { key: n % 4, payload: n } }
    outcome = Testing.run(source(ordered_by: :key, threads: 3, batch: 4), messages) do |batch, _|
      batch.each { |message| keyed[message.key] << message.payload.to_i }
    end
    assert_predicate outcome, :clean?
    assert_equal (0...4).to_h { |key| [key.to_s, (key...30).step(4).to_a] }, keyed.sort.to_h
  end

  test "keeps what was produced, of transactions only what they end with" do
    { false => 14, true => 10 }.each do |transactional, count|
      tries = 0
      outcome = rehearse(batch: 5, transactional:) do |batch, child|
        batch.each do |message|
          child.producer.produce("out", message.payload)
          raise "once" if message.payload == "3" && (tries += 1) == 1
        end
      end
      assert_equal [10, count], [outcome.done.size, outcome.child.produced.size]
    end
  end

  test "reports a pause at its level" do
    child = Testing.child
    Testing.run(source, ["a"], child:, retries: 1) { |batch, _| batch.pause(3, level: :debug) }

    assert_includes child.events.map { |name, level, _| [name, level] }, %i[kafka_paused debug]
  end

  test "stops what would pause, or jump back, for ever" do
    tries = 0
    outcome = rehearse(batch: 5) { |batch, _| batch.pause(1) if (tries += 1) }
    assert_equal [[], 10, 11], [outcome.done, outcome.left.size, tries]
    outcome = rehearse(batch: 5) { |batch, _| batch.seek(:beginning) }
    assert_equal 10, outcome.left.size
  end

  test "keeps partitions and topics apart, in order" do
    seen = Hash.new { |all, key| all[key] = [] }
    messages = (0...20).map do |n|
      { topic: n.even? ? "orders" : "refunds", partition: n % 3, payload: n }
    end
    outcome = Testing.run(source(topics: %w[orders refunds], batch: 2), messages) do |batch, _|
      seen[[batch.topic, batch.partition]].concat(batch.map(&:offset))
    end
    assert_predicate outcome, :clean?
    assert_equal 6, seen.size
    seen.each_value { |offsets| assert_equal (0...offsets.size).to_a, offsets }
  end

  test "lets pass what would end a node, and leaves nothing behind" do
    assert_raises(NoMemoryError) { rehearse { raise NoMemoryError } }
  end

  test "raises what is wrong with the source" do
    error = assert_raises(Skep::Kafka::ConfigurationError) { rehearse(batch: 0) { nil } }
    assert_match(/batch: must be a whole number/, error.message)
  end

  test "finds the works of a swarm file and runs nothing of it unasked" do
    app = Testing.load(file(<<~RUBY))
      require "skep/kafka"
      Seen = Thread.current[:seen] = []
      Skep.swarm "app" do |swarm|
        swarm.preload { Seen << :preload }
        swarm.on_boot { |child| Seen << child.id }
        %w[orders refunds].each do |topic|
          source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "k:1" }, group: "g-\#{topic}",
                                           topics: topic)
          swarm.work(source) { |batch, _| batch.each { |one| Seen << "\#{topic} \#{one.payload}" } }
        end
        swarm.work { |child| child.wait }
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

  test "needs neither a gem nor C, and what the docs show works" do
    page = File.read("docs/testing.md", encoding: "UTF-8")
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

  private

  def source(**more)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "kafka:9092" }, group: "g",
                            topics: "orders", **more)
  end

  def rehearse(**options, &handler)
    Testing.run(source(**options), (0..9).map(&:to_s), &handler)
  end

  def file(text)
    @directory ||= Dir.mktmpdir
    File.join(@directory, "swarm.rb").tap { |path| File.write(path, text) }
  end

  def teardown = @directory && FileUtils.remove_entry(@directory)
end
