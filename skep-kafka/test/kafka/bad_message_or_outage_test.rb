# frozen_string_literal: true

require "test_helper"
require "kafka/fuzz/run"
require "skep/swarm"

# A message that fails while other partitions of the process succeed is bad, even as the first one
# of its batch. While all partitions fail, at most one message becomes a dead letter, and none in an
# outage that reaches all at once. (If hardly anything succeeds between the bad messages of all
# partitions, they can't be told from an outage.)
class KafkaBadMessageOrOutageTest < Skep::TestCase
  RETRY_FOR = 300
  PARTITIONS = 4
  EACH = 50 # messages of a partition
  private_constant :RETRY_FOR, :PARTITIONS, :EACH

  # Runs a source on a clock that goes on with each message, and that jumps to the next deadline.
  class Simulation < Skep::Kafka::Testing::TestRun
    SECONDS = 0.01 # that a message takes
    attr_reader :outcome

    def self.of(source, messages, random, &handler)
      clock = HandlerFuzz::Clock.new
      Skep::OS.run_on(clock) { new(source, messages, clock, random, handler).tap(&:run) }
    end

    def initialize(source, messages, clock, random, handler)
      @clock, @began = clock, clock.now
      before = srand(random.rand(1_000))
      node = Skep::Kafka::Testing.node
      super(source, messages, node:, retries: 1_000_000, handler: lambda do |batch, _|
        batch.each do |message|
          clock.jump(clock.now + SECONDS)
          handler.call(message, seconds)
          batch.mark(message)
        end
      end)
      srand(before)
      @options = source.__options # with the time that retries take
    end

    def run = @outcome = super
    def seconds = @clock.now - @began

    private

    def step
      worked = @scheduler.wake_ready && (item = @worker.next_item(wait: false))
      return @worker.work(item) if worked

      deadline = @scheduler.next_deadline
      deadline ? @clock.jump(deadline) : @over = true
    end
  end

  # The same in a process of a swarm, whose dead letters can't be written at first.
  class Refusing < Simulation
    SECONDS_REFUSED = 100.0

    class DeadLetters < Skep::Kafka::Testing::FakeDeadLetterQueue
      attr_accessor :refused # a callable

      def put(*, to:, **)
        raise Skep::Kafka::DeliveryFailed.new(topic: to, cause: "refused") if refused.call

        super
      end
    end

    def initialize(...)
      super
      layout = Skep::Swarm::IPC::Scoreboard::Layout.new(nodes: 2, threads: 1)
      @page = Skep::OS::SharedPage.create(layout.total)
      records = Skep::Swarm::IPC::Scoreboard::HandlerRecords.new(@page, layout, 0)
      @node.define_singleton_method(:__handler_records) { records }
    end

    def run
      super
    ensure
      @page.close
    end

    private

    def dead_letter_queue
      DeadLetters.new(@options.settings, @node).tap do |queue|
        queue.refused = -> { seconds < SECONDS_REFUSED }
      end
    end
  end

  def setup
    missing = Skep::Kafka::Librdkafka::Bindings.missing_library
    missing(missing) if missing
  end

  20.times do |seed|
    test "two bad messages of 200 in four partitions are dead-lettered within seconds, #{seed}" do
      random = Random.new(seed)
      bad = bad_messages(random)
      run = simulate(random) do |message|
        raise ArgumentError, "bad" if bad.include?(message.payload)
      end

      assert_equal bad.sort, run.outcome.dead_lettered.map(&:payload).sort
      assert_equal [198, []], [run.outcome.done.size, run.outcome.pending]
      assert_operator run.seconds, :<, 10
      attempts = run.outcome.dead_letters.map { |one| one.headers["skep.attempts"].to_i }
      assert_operator attempts.min, :>=, 3
    end

    test "a bad message in every partition at once blocks none for long, #{seed}" do
      random = Random.new(seed)
      at = 5 + random.rand(EACH - 30)
      bad = Array.new(PARTITIONS) { |number| (((at + (6 * number)) * PARTITIONS) + number).to_s }
      run = simulate(random) do |message|
        raise ArgumentError, "bad" if bad.include?(message.payload)
      end

      assert_equal bad.sort, run.outcome.dead_lettered.map(&:payload).sort
      assert_operator run.seconds, :<, 20
    end

    test "an outage that reaches all partitions at once dead-letters nothing, #{seed}" do
      random = Random.new(seed)
      from = random.rand * 1.5
      run = simulate(random) do |_, seconds|
        raise IOError, "away" if seconds.between?(from, from + 60)
      end

      assert_empty run.outcome.dead_lettered
      assert_equal PARTITIONS * EACH, run.outcome.done.size
    end

    test "an outage that reaches one partition after the other dead-letters one at most, #{seed}" do
      random = Random.new(seed)
      from = random.rand * 1.5
      onset = Array.new(PARTITIONS) { from + (random.rand * 0.1) }
      run = simulate(random) do |message, seconds|
        raise IOError, "away" if seconds.between?(onset[message.partition], from + 60)
      end
      dead = run.outcome.dead_lettered

      assert_operator dead.size, :<=, 1
      assert_equal PARTITIONS * EACH, run.outcome.done.size + dead.size
    end
  end

  test "a bad message whose dead letter can't be written becomes one as soon as it can" do
    random = Random.new(1)
    run = simulate(random, Refusing) do |message|
      raise ArgumentError, "bad" if message.payload == "80"
    end

    assert_equal %w[80], run.outcome.dead_lettered.map(&:payload)
    assert_empty run.outcome.pending
    assert_in_delta Refusing::SECONDS_REFUSED, run.seconds, 40 # the longest backoff
  end

  private

  def messages
    @messages ||= Array.new(PARTITIONS * EACH) do |number|
      { partition: number % PARTITIONS, offset: number / PARTITIONS, payload: number.to_s }
    end
  end

  # Of two partitions, and other messages follow them: the last message of all can't be told from
  # the beginning of an outage.
  def bad_messages(random)
    (0...PARTITIONS).to_a.sample(2, random:).map do |number|
      ((random.rand(EACH - 10) * PARTITIONS) + number).to_s
    end
  end

  def simulate(random, kind = Simulation, &)
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, group: "g",
                                     topics: "t", dead_letter_topic: "dead", max_attempts: 3,
                                     max_messages: [5, 500].sample(random:), retry_for: RETRY_FOR)
    kind.of(source, messages, random, &)
  end
end
