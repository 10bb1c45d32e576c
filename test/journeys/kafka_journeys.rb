# frozen_string_literal: true

# The operations of skep/kafka, with the embedded broker (`skep kafka broker`). The node has
# processed a message of each partition before an operation begins.
#
# An operation ends when the broker has the group's committed offset, which a client that isn't
# skep's queries. SETTLE_SECONDS are added for what the node does with the broker's answer. A
# revocation ends when the other member has its partition. A transaction ends when the status counts
# its message as done, since the embedded broker doesn't return offsets that a transaction has
# committed.
class KafkaJourneys < Journeys
  IDLE_SECONDS = 3.0
  SETTLE_SECONDS = 0.1
  SECONDS = 60.0
  POLL_SECONDS = 0.01
  GROUP = "journeys"
  # at: when the handler was called, or is about to raise.
  SWARM = <<~'RUBY'
    require "json"
    require "skep/kafka"
    settings = JSON.parse(ENV.fetch("KAFKA_SETTINGS"))
    File.write("#{__dir__}/settings.json", JSON.generate(settings))
    clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
    Skep.swarm "%<name>s", nodes: 1, stop_timeout: 10, liveness_timeout: 60 do |swarm|
      kafka = settings.merge("partition.assignment.strategy" => "cooperative-sticky")
      source = Skep::Kafka::Source.new(kafka:, group: "journeys", topics: "orders",
                                       commit_interval: 0.1, **%<more>p)
      boot = "#{__dir__}/%<name>s.boot"
      swarm.on_boot { File.write(boot, clock.call.to_s) unless File.exist?(boot) }
      swarm.work(source) do |batch, node|
        %<body>s
      end
    end
  RUBY
  RAISES = <<~'RUBY'
    batch.each do |message|
      next unless message.payload == "bad"

      node.event(:handling, at: clock.call)
      raise "bad"
    end
  RUBY
  WAITS = <<~'RUBY'
    batch.each do |message|
      next unless message.payload == "long"

      node.event(:handling)
      until node.stopping? || File.exist?("#{__dir__}/released")
        break if File.exist?("#{__dir__}/joins") && batch.revoked?

        node.wait(0.02)
      end
    end
  RUBY
  PRODUCES = <<~'RUBY'
    node.event(:handling, at: clock.call)
    batch.each { |message| node.producer.produce("outputs", message.payload) }
  RUBY
  NOTHING = "batch.each { |message| message.payload }"
  private_constant :IDLE_SECONDS, :SETTLE_SECONDS, :SECONDS, :POLL_SECONDS, :GROUP, :SWARM,
                   :RAISES, :WAITS, :PRODUCES, :NOTHING

  def run
    require "rdkafka"
    super
  rescue LoadError => e
    puts "  - files  of Kafka: #{e.message}"
  end

  private

  def operations
    { "a message until its offset is committed" => method(:commit),
      "an exception until the partition is past its dead letter" => method(:dead_letter),
      "a revocation with a batch in progress" => method(:revocation),
      "a transaction with one output" => method(:transaction) }
  end

  def part = %r{\Akafka[/.]}

  def idle_window? = true

  # From the message's production until the group's offset is past it.
  def commit
    start(NOTHING)
    feed("first")
    await_committed(1)
    idle
    from = now
    feed("one")
    await_committed(2)
    [from, settled]
  end

  # From the first exception, for one of three messages, until the partition is past all of them.
  # The batch and then the message are tried twice.
  def dead_letter
    start(RAISES,
          { dead_letter_topic: "dead", max_attempts: 2, retry_for: nil, retry_backoff: 0.05 })
    feed("first")
    await_committed(1)
    idle
    feed("good", "bad", "good")
    await_committed(4)
    raise "no dead letter" unless end_offset("dead") == 1

    [@swarm.await("handling")["at"], settled]
  end

  # From the start of another member, an untraced swarm, until it has one of the two partitions. The
  # node processes a batch of each partition. The handler returns once `batch.revoked?` is true.
  def revocation
    start(WAITS, { threads: 2 }, partitions: 2)
    feed("first", "first")
    await_committed(2)
    feed("long", "long")
    2.times { @swarm.await("handling") }
    idle
    File.write("#{@folder}/joins", "")
    to = another_member
    raise "no revocation" unless @swarm.await("kafka_rebalance")["change"] == "revoked"

    [Float(File.read("#{@folder}/other.boot")), to]
  ensure
    File.write("#{@folder}/released", "")
  end

  # From the call of the handler until the transaction is committed and its message counted. The
  # batch is read, and the transaction begun, before that.
  def transaction
    start(PRODUCES, { transactional: true })
    feed("first")
    @swarm.await("handling")
    await("message done") { done == 1 }
    idle
    feed("one")
    from = @swarm.await("handling")["at"]
    await("message done") { done == 2 }
    [from, settled]
  end

  # Starts a broker and a swarm, and waits until its node is assigned the partitions.
  def start(body, more = {}, partitions: 1)
    write_file("swarm", body, more)
    input, @input = IO.pipe
    tracing = ["env", *traced.map { |name, value| "#{name}=#{value}" }]
    command = skep("kafka", "broker", "orders:#{partitions}", "outputs:1", "dead:1", "--", *tracing,
                   *run_file("swarm"))
    @swarm = RunningSwarm.new(untraced, command, in: input)
    input.close
    @swarm.await("kafka_rebalance") { |event| event["partitions"].any? }
    connect(partitions)
  end

  def write_file(name, body, more = {})
    File.write("#{@folder}/#{name}.rb", format(SWARM, name:, body:, more:))
  end

  # Starts another member. Returns the time when it was assigned a partition.
  def another_member
    write_file("other", NOTHING)
    env = untraced.merge("KAFKA_SETTINGS" => File.read("#{@folder}/settings.json"))
    @other = RunningSwarm.new(env, run_file("other"))
    assigned = @other.await("kafka_rebalance") { |event| event["partitions"].any? }
    settled
    assigned["mono"] + SETTLE_SECONDS
  end

  # Traces the idle swarm, once the node has the answer to its last commit.
  def idle
    from = settled
    @swarm.follow(IDLE_SECONDS)
    @idle = [from, now]
  end

  def settled
    @swarm.follow(SETTLE_SECONDS)
    now
  end

  def feed(*payloads) = @input.write(payloads.map { |payload| "#{payload}\n" }.join)

  def connect(partitions)
    settings = JSON.parse(File.read("#{@folder}/settings.json"))
    @client = Rdkafka::Config.new("bootstrap.servers" => settings.fetch("bootstrap.servers"),
                                  "group.id" => GROUP, "enable.auto.commit" => false).consumer
    @partitions = Rdkafka::Consumer::TopicPartitionList.new
    @partitions.add_topic("orders", (0...partitions).to_a)
  end

  def await_committed(offset) = await("offset #{offset}") { committed == offset }

  # The sum of the group's offsets.
  def committed
    @client.committed(@partitions).to_h.fetch("orders").sum { |partition| partition.offset || 0 }
  end

  # How many messages the node has processed, by the swarm's status.
  def done
    status = IO.popen(untraced, skep("status", "--json"), err: File::NULL, &:read)
    JSON.parse(status)["nodes"].first.dig("work", "done")
  end

  def end_offset(topic) = @client.query_watermark_offsets(topic, 0).last

  def await(what)
    deadline = now + SECONDS
    until yield
      raise "no #{what} within #{SECONDS} s: #{@swarm.last_lines}" if now > deadline

      @swarm.follow(POLL_SECONDS)
    end
  end

  def finish
    @client&.close
    swarms = [@other, @swarm].compact
    @client = @other = @swarm = nil
    swarms.each { |swarm| swarm.signal(:TERM) && swarm.wait }
    @input&.close
  end
end
