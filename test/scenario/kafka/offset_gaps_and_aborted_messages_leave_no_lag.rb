# frozen_string_literal: true

# One topic is compacted: its offsets have gaps, and it has tombstones. In the other topic most
# messages belong to aborted transactions, with control records between and after them. Four groups
# read both while nodes are killed: ordered by key, by partition, with KIP-848, and with
# transactions. Each group handles all remaining committed messages, each key's in order, and no
# aborted one. It commits up to the end, so the brokers report no lag. Retention then deletes
# everything, and no group reports lost messages. Each transactional output exists once. (KILLS=n
# for more, SEED to repeat a run.)
require_relative "scenario"
require_relative "support/wire"
require "open3"
require "rdkafka"

class OffsetGaps < KafkaScenario
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
    check
    delete_all(swarm)
    await_all(swarm)
    must("report no lost message: #{missed(swarm)}") { missed(swarm).empty? }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    must("write each output once") { remaining("copies").values.sort == all.keys.sort }
  end

  private

  def prepare(random)
    puts "seed #{SEED}"
    compact_often
    Wire.create_topic(broker.port, "accounts", [[1], [1]], COMPACTED)
    topic("ledger", 3)
    topic("copies", 1)
    overwrite(random)
    write_transactions(random)
  end

  # Returns the keys of the topic's committed messages by topic/partition/offset. Reads with kcat.
  def remaining(topic)
    text, = Open3.capture2("kcat", "-C", "-b", broker.address, "-t", topic, "-e", "-q",
                           "-X", "isolation.level=read_committed", "-f", "%t/%p/%o %k\n")
    text.lines.to_h(&:split)
  end

  # Includes messages that were deleted since the last call.
  def all = (@all ||= {}).update(remaining("accounts"), remaining("ledger"))

  # Returns [place, key] of each handled message, by group.
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
            batch.each { node.wait(0.03) } # so that kills hit nodes that process a batch
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

  # Skips the KIP-848 group, as its other members wait until a killed member's session times out.
  def kill_at_work(swarm, random)
    swarm.await("node_ready", times: GROUPS.size * 2)
    GROUPS.keys.grep_v("assigned").cycle.first(KILLS).each.with_index(1) do |group, number|
      goal = number * all.size / (KILLS + 2)
      swarm.follow("#{goal} messages are handled", seconds: 60) { handled[group].uniq.size >= goal }
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
    swarm.follow("all messages are handled", seconds: 90) do
      handled.values.all? { |places| (@all.keys - places.map(&:first)).empty? }
    end
    await_lag(swarm)
    await_status(swarm)
  end

  def await_lag(swarm)
    lagging = nil
    swarm.follow("the brokers report no lag") do
      lagging = GROUPS.keys.flat_map { |name| rows(name).reject { |row| row[:lag]&.zero? } }
      lagging.empty?
    end
  rescue Scenario::Failed
    puts "partitions with a lag: #{lagging}", JSON.pretty_generate(swarm.status("readers"))
    raise
  end

  def await_status(swarm)
    lagging = nil
    swarm.follow("no node reports a lag") { (lagging = lagging(swarm)).empty? }
  rescue Scenario::Failed
    puts "nodes with a lag: #{lagging}"
    raise
  end

  # Returns the work of each node that reports a lag, or, as a new one, no lag yet.
  def lagging(swarm)
    works = swarm.status("readers")["nodes"].map { |node| node["work"] }
    works.reject { |work| work["lag"]&.zero? }.map do |work|
      work.merge("partitions" => work["partitions"].to_a.reject { |row| row["lag"]&.zero? })
    end
  end

  def rows(group)
    Skep::Kafka.lag(group, { "bootstrap.servers": broker.address })[:partitions]
  end

  def check
    handled.each do |name, places|
      first = places.uniq
      puts "#{name}: #{first.size} messages, #{places.size - first.size} duplicates"
      must("handle no aborted message") { first.none? { |_, key| key.start_with?("aborted") } }
      must("keep each key's order") { in_order?(first) }
    end
  end

  # Deletes all messages, as retention does. Then writes one more transaction to each partition, of
  # which only the first is committed.
  def delete_all(swarm)
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

  # By default Kafka's log cleaner runs every 15 s.
  def compact_often
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    configs = [{ name: "log.cleaner.backoff.ms", value: "100", op_type: 0 }]
    resource = { resource_type: 4, resource_name: "1", configs: } # a broker
    admin.incremental_alter_configs([resource]).wait(max_wait_timeout: SECONDS)
  ensure
    admin&.close
  end

  def overwrite(random)
    produced = Array.new(ROUNDS) do |round|
      some = (0...KEYS).to_a.sample(KEYS / 2, random:)
      feed("accounts", some.map { |n| ["a#{n}", round == 2 ? nil : "v#{round}", n % 2] })
    end.sum
    await_compaction(produced / 2)
    puts "#{produced} messages, of which #{remaining("accounts").size} remain"
  end

  # Only a message that arrives after segment.ms closes a segment.
  def await_compaction(most)
    deadline = Skep::OS.now + SECONDS
    until remaining("accounts").size < most
      must("have the topic compacted") { Skep::OS.now < deadline }
      feed("accounts", [["a0", "v", 0], ["a1", "v", 1]])
    end
  end

  # About two of three transactions are aborted: the last one of partition 1, all of partition 2.
  def write_transactions(random)
    produce do |producer|
      TRANSACTIONS.times { |number| write(producer, number % 3, commit?(number, random), number) }
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

  def commit?(number, random)
    last = number >= TRANSACTIONS - 3
    last ? (number % 3).zero? : number % 3 != 2 && random.rand < 0.5
  end

  def write(producer, partition, commit, number)
    producer.begin_transaction
    sent = Array.new(SIZE) do |n|
      key = commit ? "l#{((number * SIZE) + n) % 50}" : "aborted#{n}"
      producer.produce(topic: "ledger", payload: "v", key:, partition:)
    end
    sent.each { |one| one.wait(max_wait_timeout: SECONDS) }
    commit ? producer.commit_transaction : producer.abort_transaction
  end
end

OffsetGaps.play { play_out }
