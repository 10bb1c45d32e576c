# frozen_string_literal: true

require_relative "../examples/scenario"
require "active_record"
require "rdkafka"
require "skep/kafka/testing"

# `offsets: :database`: handlers may do only what a transaction allows, and the database's offsets
# override Kafka's. A database restored from a backup gets the missing messages again, and so does
# one that loses its last transactions while nodes work (a failover). A topic that was deleted and
# created again is read from its beginning.
class DatabaseOffsetsCount < ExampleScenario
  SOURCE = { group: "rows", topics: "orders", offsets: :database }.freeze

  class Order < ActiveRecord::Base; end

  def play_out
    refuse_without_database
    ActiveRecord::Base.establish_connection(database.url)
    refuse_without_table
    Skep::Kafka::DatabaseOffsets.create_table(ActiveRecord::Base.connection)
    ActiveRecord::Base.connection.create_table("orders") { |table| table.integer :number }
    roll_back_what_is_retried
    refuse_actions_outside_the_transaction
    move_past_dead_letters
    restore_a_backup
    fail_over
    read_the_new_topic
    return unless KafkaScenario::Broker::PROGRAM # the embedded broker aborts no transaction

    continue_after_aborted_messages
  end

  private

  def source(**more)
    Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "none" }, **SOURCE, **more)
  end

  def numbers = Order.order(:id).pluck(:number)

  def test_run(messages = %w[1 2 3], **more, &handler)
    Order.delete_all
    Skep::Kafka::Testing.run(source(**more), messages, retries: 2, &handler)
  end

  def insert(batch) = batch.each { |message| Order.create!(number: Integer(message.payload)) }

  def expect(what, expected, found)
    must("#{what}: #{expected}, not #{found}") { expected == found }
  end

  def roll_back_what_is_retried
    test_run { |batch, _| insert(batch) }
    expect("a row for each message", [1, 2, 3], numbers)

    failed = false
    result = test_run do |batch, _|
      insert(batch)
      raise "once" unless failed.tap { failed = true }
    end
    expect("no row of the failed attempt", [1, 2, 3], numbers)
    expect("one retry", 1, result.retried.size)

    paused = false
    test_run do |batch, _|
      insert(batch)
      batch.pause(1) unless paused.tap { paused = true }
    end
    expect("no row of the paused attempt", [1, 2, 3], numbers)
  end

  def refuse_actions_outside_the_transaction
    errors = lambda do |**more, &handler|
      test_run(**more, &handler).retried.map { |one| one[:error] }.uniq
    end
    mark = errors.call { |batch, _| batch.each { |message| batch.mark(message) } }
    seek = errors.call { |batch, _| batch.seek(:beginning) }
    rollback = errors.call { |batch, _| insert(batch) && raise(ActiveRecord::Rollback) }
    [mark, seek, rollback].zip(%w[OneTransaction OneTransaction RolledBack]) do |found, name|
      must("raise #{name} only: #{found}") do
        found.size == 1 && found.first.start_with?("Skep::Kafka::#{name}")
      end
    end
    expect("no row of those", [], numbers)
  end

  def move_past_dead_letters
    result = test_run(%w[1 x 3], dead_letter_topic: "orders.dead", max_attempts: 1) do |batch, _|
      insert(batch)
    end
    expect("rows beside the dead letter", [1, 3], numbers)
    expect("one dead letter", 1, result.dead_letters.size)
    expect("all done", { ["orders", 0] => 3 }, result.committed)
    expect("the offset in the database", [3], offsets)
  end

  def offsets
    database.query("SELECT next_offset FROM skep_offsets").lines.map { |line| Integer(line) }
  end

  def refuse_without_database
    status = started("postgresql:///postgres?host=/nowhere&user=skep").wait
    must("exit with 75 without a database, not #{status}") { status.exitstatus == 75 }
  end

  def refuse_without_table
    topics("orders" => 1)
    swarm = started
    status = swarm.wait
    must("exit with 78 without the table, not #{status}") { status.exitstatus == 78 }
    must("print the call that creates the table: #{swarm.account}") do
      swarm.account.include?("Skep::Kafka::DatabaseOffsets.create_table(self)")
    end
  end

  def restore_a_backup
    Order.delete_all
    Skep::Kafka::DatabaseOffsets.__forget("rows")
    feed("orders", (0...100).map { |number| [nil, number.to_s, 0] })
    swarm = started
    swarm.follow(-> { "#{Order.count} rows" }) { Order.count == 100 }
    stop_well(swarm)
    Order.where(number: 40..).delete_all
    ActiveRecord::Base.connection.execute("UPDATE skep_offsets SET next_offset = 40")
    feed("orders", [[nil, "100", 0]])
    swarm = started(filter: "->(message) { message.payload != '100' }")
    swarm.await("kafka_database_offset_behind") { |event| event["offset"] == 40 }
    swarm.follow(-> { "offsets #{offsets}" }) { offsets == [101] }
    stop_well(swarm)
    expect("each once after the restoration", [*0...100], numbers)
  end

  # The table is as it was 30 messages ago, and the swarm works.
  def fail_over
    topics("ledger" => 1)
    Order.delete_all
    feed("ledger", (0...50).map { |number| [nil, number.to_s, 0] })
    swarm = started(topic: "ledger", group: "ledger")
    swarm.follow(-> { "#{Order.count} rows" }) { Order.count == 50 }
    Order.transaction do
      Order.where(number: 20..).delete_all
      ActiveRecord::Base.connection.execute(<<~SQL)
        UPDATE skep_offsets SET next_offset = 20 WHERE topic = 'ledger'
      SQL
    end
    feed("ledger", (50...60).map { |number| [nil, number.to_s, 0] })
    swarm.await("kafka_database_offset_behind") { |event| event["offset"] == 20 }
    swarm.follow(-> { "#{Order.count} rows" }) { Order.count == 60 }
    stop_well(swarm)
    expect("each once after the failover", [*0...60], numbers)
  end

  def read_the_new_topic
    topics("again" => 1)
    feed("again", (0...50).map { |number| [nil, number.to_s, 0] })
    ActiveRecord::Base.connection.execute(<<~SQL)
      INSERT INTO skep_offsets (consumer_group, topic, partition, next_offset, updated_at)
        VALUES ('others', 'again', 0, 5000, now())
    SQL
    Order.delete_all
    swarm = started(database.url, topic: "again", group: "others")
    swarm.follow(-> { "#{Order.count} rows" }) { Order.count >= 50 }
    swarm.await("kafka_database_offset_reset") { |event| event["offset"] == 5000 }
    stop_well(swarm)
    expect("all of the new topic", [*0...50], numbers)
    read_another_topic_of_that_name if KafkaScenario::Broker::PROGRAM # the embedded one has no ids
  end

  # The row's offset is in the topic, but belongs to another one.
  def read_another_topic_of_that_name
    ActiveRecord::Base.connection.execute(<<~SQL)
      INSERT INTO skep_offsets
        (consumer_group, topic, partition, next_offset, updated_at, cluster_id, topic_id)
        SELECT 'former', topic, partition, 20, now(), cluster_id, 'former' FROM skep_offsets
          WHERE consumer_group = 'others' AND topic_id IS NOT NULL
    SQL
    Order.delete_all
    swarm = started(topic: "again", group: "former")
    swarm.await("kafka_database_offset_reset") { |event| event["offset"] == 20 }
    swarm.follow(-> { "#{Order.count} rows" }) { Order.count >= 50 }
    stop_well(swarm)
    expect("all of that topic", [*0...50], numbers)
  end

  # Aborted messages have offsets, but no handler gets them. So the next message is far behind the
  # database's offset, although nothing is missing.
  def continue_after_aborted_messages
    topics("aborted" => 1)
    Order.delete_all
    2.times do |round|
      numbers = 10 * round...10 * (round + 1)
      feed_in_a_transaction("aborted", numbers, :abort_transaction)
      feed_in_a_transaction("aborted", numbers, :commit_transaction)
      swarm = started(topic: "aborted", group: "aborted")
      swarm.follow(-> { "#{Order.count} rows" }) { Order.count == numbers.end }
      stop_well(swarm)
      must("not report the database as behind") do
        swarm.events.none? { |event| event["event"] == "kafka_database_offset_behind" }
      end
    end
    expect("each message once", [*0...20], numbers)
  end

  def feed_in_a_transaction(topic, numbers, ending)
    producer = Rdkafka::Config.new("bootstrap.servers": broker.address,
                                   "transactional.id": "feeder").producer
    producer.init_transactions
    producer.begin_transaction
    numbers.map { |number| producer.produce(topic:, payload: number.to_s, partition: 0) }
           .each(&:wait)
    producer.public_send(ending)
  ensure
    producer&.close
  end

  def started(url = database.url, topic: "orders", group: "rows", filter: "nil")
    settings = { "bootstrap.servers" => broker.address, **broker.settings }
    run_swarm(<<~RUBY, env: { "DATABASE_URL" => url })
      require "skep/kafka"
      require "active_record"
      class Order < ActiveRecord::Base; end
      Skep.swarm "rows", nodes: 1 do |swarm|
        swarm.preload { ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL")) }
        source = Skep::Kafka::Source.new(kafka: #{settings.inspect}, group: #{group.inspect},
                                         topics: #{topic.inspect}, offsets: :database,
                                         filter: #{filter})
        swarm.work(source) do |batch, _|
          batch.each { |message| Order.create!(number: Integer(message.payload)) }
        end
      end
    RUBY
  end
end

DatabaseOffsetsCount.play { play_out }
