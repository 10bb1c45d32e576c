# frozen_string_literal: true

# A compacted topic whose offsets have holes, with tombstones, and one in which most messages are of
# transactions that were aborted, with the brokers' own records between and after them. Both are
# read by key while nodes are killed: what is left and counts is handled, each key's in order, and
# nothing that was aborted; and it is committed. Of the compacted topic that is its end, by the
# brokers' own count. (KILLS=n for more, SEED for the same again.)
require_relative "scenario"
require_relative "support/wire"
require "open3"
require "rdkafka"

class Holes < KafkaScenario
  KEYS, ROUNDS, TRANSACTIONS, SIZE = 400, 5, 60, 10
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 10_000))
  KILLS = Integer(ENV.fetch("KILLS", "3"))
  COMPACTED = { "cleanup.policy" => "compact", "segment.ms" => 100, "delete.retention.ms" => 0,
                "min.cleanable.dirty.ratio" => 0.01 }.freeze

  def play_out
    prepare(random = Random.new(SEED))
    swarm = run_swarm(source)
    swarm.await("node_ready", times: 2)
    kill_at_work(swarm, random)
    swarm.follow("all is handled", seconds: 60) { (all.keys - handled.map(&:first)).empty? }
    swarm.follow("all is committed") { rows.all? { |row| row[:committed].to_i > row[:last] } }
    beyond = rows
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    judge(beyond)
  end

  private

  def prepare(random)
    puts "seed #{SEED}"
    clean_soon
    Wire.create_topic(broker.port, "accounts", [[1], [1]], COMPACTED)
    topic("ledger", 3)
    overwrite(random)
    write_transactions(random)
  end

  # The keys of what is left and counts, by topic/partition/offset; read without skep.
  def left(topic)
    said, = Open3.capture2("kcat", "-C", "-b", broker.address, "-t", topic, "-e", "-q",
                           "-X", "isolation.level=read_committed", "-f", "%t/%p/%o %k\n")
    said.lines.to_h(&:split)
  end

  def all = left("accounts").merge(left("ledger"))
  def handled = lines.map { |line| line.split.drop(1) }

  def source
    body = <<~RUBY
      batch.each { child.wait(0.02) } # so that kills find it at work
    RUBY
    more = ", ordered_by: :key, threads: 3, batch: 30, commit_every: 0.5"
    reader(%w[accounts ledger], nodes: 2, more:, body:, options: ", restarts: 1_000",
                                kafka: { "session.timeout.ms" => 6_000 })
  end

  def kill_at_work(swarm, random)
    KILLS.times do |number|
      goal = (number + 1) * all.size / (KILLS + 2)
      swarm.follow("#{goal} are handled", seconds: 60) { handled.uniq.size >= goal }
      victim = swarm.status("readers")["nodes"].sample(random:)
      swarm.kill(victim["pid"])
      swarm.await("node_ready", times: 1) { |event| event["pid"] != victim["pid"] }
    end
  end

  # What is committed of each partition, where it ends, and the last offset of what counts there
  # (-1: nothing).
  def rows
    last = all.keys.group_by { |place| partition(place) }
    Skep::Kafka.lag("readers", { "bootstrap.servers": broker.address })[:partitions].map do |row|
      places = last.fetch(row.values_at(:topic, :partition).join("/"), [])
      { **row.slice(:topic, :partition, :committed, :end, :lag),
        last: places.map { |place| offset(place) }.max || -1 }
    end
  end

  def judge(beyond)
    first = handled.uniq
    puts "#{all.size} messages, #{handled.size - first.size} came twice, after #{KILLS} kills"
    beyond.each { |row| puts "  #{row}" }
    must("handle nothing that was aborted") { first.none? { |_, key| key.start_with?("aborted") } }
    must("keep each key's order") { in_order?(first) }
    must("leave no lag where messages are compacted") do
      beyond.select { |row| row[:topic] == "accounts" }.all? { |row| row[:lag].zero? }
    end
  end

  def in_order?(places)
    by_key = places.group_by { |place, key| [partition(place), key] }
    by_key.each_value.all? do |some|
      offsets = some.map { |place, _| offset(place) }
      offsets == offsets.sort
    end
  end

  def partition(place) = place[/.*(?=\/)/]
  def offset(place) = Integer(place[/\d+\z/])

  # Kafka's cleaner looks every 15 s.
  def clean_soon
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    configs = [{ name: "log.cleaner.backoff.ms", value: "100", op_type: 0 }]
    resource = { resource_type: 4, resource_name: "1", configs: } # the broker
    admin.incremental_alter_configs([resource]).wait(max_wait_timeout: SECONDS)
  ensure
    admin&.close
  end

  def overwrite(random)
    fed = Array.new(ROUNDS) do |round|
      some = (0...KEYS).to_a.sample(KEYS / 2, random:)
      feed("accounts", some.map { |n| ["a#{n}", round == 2 ? nil : "v#{round}", n % 2] })
    end.sum
    await_compaction(fed / 2)
    puts "#{fed} messages, of which #{left("accounts").size} are left"
  end

  # A segment is closed by what comes after its time.
  def await_compaction(most)
    deadline = Skep::OS.now + SECONDS
    until left("accounts").size < most
      must("compact it") { Skep::OS.now < deadline }
      feed("accounts", [["a0", "v", 0], ["a1", "v", 1]])
    end
  end

  # Two of three are aborted, the last of partition 1 and all of partition 2 among them.
  def write_transactions(random)
    producer = Rdkafka::Config.new("bootstrap.servers" => broker.address,
                                   "transactional.id" => "ledger").producer
    producer.init_transactions
    TRANSACTIONS.times { |number| write(producer, number % 3, counts?(number, random), number) }
  ensure
    producer&.close
  end

  def counts?(number, random)
    last = number >= TRANSACTIONS - 3
    last ? (number % 3).zero? : number % 3 != 2 && random.rand < 0.5
  end

  def write(producer, partition, counts, number)
    producer.begin_transaction
    sent = Array.new(SIZE) do |n|
      key = counts ? "l#{((number * SIZE) + n) % 50}" : "aborted#{n}"
      producer.produce(topic: "ledger", payload: "v", key:, partition:)
    end
    sent.each { |one| one.wait(max_wait_timeout: SECONDS) }
    counts ? producer.commit_transaction : producer.abort_transaction
  end
end

Holes.play { play_out }
