# frozen_string_literal: true

# A compacted topic whose offsets have holes, with tombstones, and one in which most messages are of
# transactions that were aborted, with the brokers' own records between and after them. Four groups
# read both while nodes are killed: by key, by partition, with the protocol of KIP-848, and with
# transactions. What is left and counts is handled, each key's in order, and nothing that was
# aborted; and all of it is committed, up to the very end, by the brokers' own count. So nobody
# misses what retention takes then: nothing that was a message for them. What is written by
# transactions is there once. (KILLS=n for more, SEED for the same again.)
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

  GROUPS = { "by_key" => "{}, ordered_by: :key", "plain" => "{}",
             "exact" => "{}, transactional: true",
             "assigned" => '{ "group.protocol": "consumer" }' }.freeze

  def play_out
    prepare(random = Random.new(SEED))
    swarm = run_swarm(source)
    kill_at_work(swarm, random)
    await_all(swarm)
    judge
    take_the_tails(swarm)
    await_all(swarm)
    must("miss nothing: #{missed(swarm)}") { missed(swarm).empty? }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("write each output once") { left("copies").values.sort == all.keys.sort }
  end

  private

  def prepare(random)
    puts "seed #{SEED}"
    clean_soon
    Wire.create_topic(broker.port, "accounts", [[1], [1]], COMPACTED)
    topic("ledger", 3)
    topic("copies", 1)
    overwrite(random)
    write_transactions(random)
  end

  # The keys of what is left and counts, by topic/partition/offset; read without skep.
  def left(topic)
    said, = Open3.capture2("kcat", "-C", "-b", broker.address, "-t", topic, "-e", "-q",
                           "-X", "isolation.level=read_committed", "-f", "%t/%p/%o %k\n")
    said.lines.to_h(&:split)
  end

  # What was taken away since was there before.
  def all = (@all ||= {}).update(left("accounts"), left("ledger"))

  # [place, key] of each message, by groups.
  def handled
    found = lines.map(&:split).group_by(&:first)
    GROUPS.to_h { |name, _| [name, found.fetch(name, []).map { |line| line.drop(1) }] }
  end

  def source
    works = GROUPS.map { |name, how| "work.call(#{name.inspect}, #{how})" }
    <<~RUBY
      require "skep/kafka"
      Skep.swarm "readers", stop_timeout: 20, max_restarts: 1_000 do |swarm|
        work = lambda do |group, more, **how|
          kafka = { "bootstrap.servers": "#{broker.address}", **more }
          source = Skep::Kafka::Source.new(kafka:, topics: %w[accounts ledger], group:, threads: 3,
                                           max_messages: 30, commit_interval: 0.5, **how)
          swarm.work(source, nodes: 2) do |batch, node|
            batch.each { node.wait(0.03) } # so that kills find it at work
            places = batch.map { |one| ["\#{one.topic}/\#{one.partition}/\#{one.offset}", one.key] }
            places.each { |place, _| node.producer.produce("copies", place, key: place) } if group == "exact"
            File.write("#{file}", places.map { |place| "\#{[group, *place].join(" ")}\n" }.join, mode: "a")
          end
        end
        #{works.join("
  ")}
      end
    RUBY
  end

  # (Who is killed in the group of KIP-848 is waited for until its session has ended.)
  def kill_at_work(swarm, random)
    swarm.await("node_ready", times: GROUPS.size * 2)
    GROUPS.keys.grep_v("assigned").cycle.first(KILLS).each.with_index(1) do |group, number|
      goal = number * all.size / (KILLS + 2)
      swarm.follow("#{goal} are handled", seconds: 60) { handled[group].uniq.size >= goal }
      kill_one(swarm, group, random)
    end
  end

  def kill_one(swarm, group, random)
    nodes = swarm.status("readers")["nodes"]
    victim = nodes.select { |node| node.dig("work", "group") == group }.sample(random:)
    swarm.kill(victim["pid"])
    swarm.await("node_ready", times: 1) { |event| event["pid"] != victim["pid"] }
  end

  def await_all(swarm)
    all
    swarm.follow("all is handled", seconds: 90) do
      handled.values.all? { |places| (@all.keys - places.map(&:first)).empty? }
    end
    swarm.follow("nobody lags") do
      GROUPS.keys.flat_map { |name| rows(name) }.all? { |row| row[:lag]&.zero? }
    end
    await_status(swarm)
  end

  def await_status(swarm)
    lagging = nil
    swarm.follow("nobody says so") { (lagging = lagging(swarm)).empty? }
  rescue Scenario::Failed
    puts "say so: #{lagging}"
    raise
  end

  # What nodes say of themselves, and of their partitions with a lag. A new one says nothing yet.
  def lagging(swarm)
    works = swarm.status("readers")["nodes"].map { |node| node["work"] }
    works.reject { |work| work["lag"]&.zero? }.map do |work|
      work.merge("partitions" => work["partitions"].to_a.reject { |row| row["lag"]&.zero? })
    end
  end

  def rows(group)
    Skep::Kafka.lag(group, { "bootstrap.servers": broker.address })[:partitions]
  end

  def judge
    handled.each do |name, places|
      first = places.uniq
      puts "#{name}: #{first.size} messages, #{places.size - first.size} came twice"
      must("handle nothing aborted") { first.none? { |_, key| key.start_with?("aborted") } }
      must("keep each key's order") { in_order?(first) }
    end
  end

  # All there is, by retention; one more transaction in each partition, which is committed only in
  # the first, shows who goes on.
  def take_the_tails(swarm)
    all
    rows("plain").each do |row|
      Wire.delete_records(broker.port, *row.values_at(:topic, :partition, :end))
    end
    must("restart") { swarm.skep("restart", "readers").nil? }
    produce { |producer| 3.times { |n| write(producer, n, n.zero?, TRANSACTIONS + n) } }
  end

  def missed(swarm)
    swarm.events.select { |event| %w[messages_lost kafka_offset_reset].include?(event["event"]) }
  end

  def in_order?(places)
    by_key = places.group_by { |place, key| [place[/.*(?=\/)/], key] }
    by_key.each_value.all? do |some|
      offsets = some.map { |place, _| Integer(place[/\d+\z/]) }
      offsets == offsets.sort
    end
  end

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
    produce do |producer|
      TRANSACTIONS.times { |number| write(producer, number % 3, counts?(number, random), number) }
    end
  end

  def produce
    producer = Rdkafka::Config.new("bootstrap.servers" => broker.address,
                                   "transactional.id" => "ledger").producer
    producer.init_transactions
    yield producer
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
