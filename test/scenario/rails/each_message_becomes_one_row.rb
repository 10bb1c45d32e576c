# frozen_string_literal: true

require_relative "../examples/scenario"

# `offsets: :database`: nodes, the database and the broker are killed with SIGKILL while handlers
# write a row for each message, without any key that would prevent a second one. Some handlers fail,
# and some messages become dead letters. In the end each other message has one row.
#
#   ROUNDS=20 SKEP_KAFKA_BROKER=… ruby test/scenario/rails/each_message_becomes_one_row.rb
#
# The embedded broker keeps nothing when it is killed, so only a real one is.
class ExactRows < ExampleScenario
  ROUNDS = Integer(ENV.fetch("ROUNDS", "1"))
  MESSAGES, PARTITIONS, BAD = 6_000, 8, 1_500 # each 1500th message always fails
  SCHEMA = <<~RUBY
    require "skep/kafka"
    require "active_record"
    ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL"))
    Skep::Kafka::DatabaseOffsets.create_table(ActiveRecord::Base.connection)
    ActiveRecord::Base.connection.create_table("orders") { |table| table.integer :number }
  RUBY

  def play_out
    ROUNDS.times do |round|
      @round = round
      play_round
    end
  end

  private

  def play_round
    @database = Postgres.start
    prepare
    @topic = "orders-#{@round}"
    topics(@topic => PARTITIONS, "#{@topic}.dead" => 1)
    feed(@topic, numbers(0...MESSAGES))
    swarm = run_swarm(source, env: { "DATABASE_URL" => database.url })
    disturb(swarm)
    swarm.follow(-> { "#{done} of #{MESSAGES} done, #{rows.size} rows" }) { done == MESSAGES }
    stop_well(swarm)
    check(swarm)
  ensure
    @database&.stop
  end

  def prepare
    output, status = Open3.capture2e({ "DATABASE_URL" => database.url }, RbConfig.ruby, "-I",
                                   File.expand_path("../../../load_path", __dir__), "-e", SCHEMA)
    must("create the tables: #{output}") { status.success? }
  end

  def disturb(swarm)
    kill_at(swarm, [1, MESSAGES / 6]) { rows.size }
    swarm.follow("a third is done") { rows.size >= MESSAGES / 3 }
    database.kill
    database.start
    kill_broker if broker.respond_to?(:start)
    kill_at(swarm, [MESSAGES / 2]) { rows.size }
    database.restart("immediate")
    kill_at(swarm, [0]) { 0 }
  end

  def kill_broker
    broker.kill
    broker.start
  end

  def numbers(range) = range.map { |number| [number.to_s, number.to_s, number % PARTITIONS] }
  def bad = (0...MESSAGES).select { |number| (number % BAD).zero? }

  def rows = query("SELECT number FROM orders")
  def done = query("SELECT sum(next_offset) FROM skep_offsets").sum

  def query(sql)
    database.query(sql).lines(chomp: true).reject(&:empty?).map { |line| Integer(line) }
  rescue RuntimeError # the database is recovering
    []
  end

  def dead_letters
    settings = { "bootstrap.servers": broker.address, **broker.settings }
    Skep::Kafka.dead_letters("#{@topic}.dead", settings) do |letters|
      letters.to_enum.map { |letter| Integer(letter.message.payload) }
    end
  end

  def check(swarm)
    found = rows.tally
    twice = found.select { |_, times| times > 1 }.keys
    lost = [*0...MESSAGES] - found.keys - bad
    dead = dead_letters
    puts "round #{@round}: #{MESSAGES} messages, #{found.size} rows, #{lost.size} lost, " \
         "#{twice.size} twice, #{dead.size} dead letters"
    must("write each row once, not #{twice.first(9)} twice") { twice.empty? }
    must("lose none, not #{lost.first(9)}") { lost.empty? }
    must("write no row of a dead letter") { (found.keys & bad).empty? }
    must("have a dead letter of each bad message") { dead.uniq.sort == bad }
    must("never report a wrong offset") do
      swarm.events.none? { |event| event["event"] == "kafka_database_offset_reset" }
    end
  end

  def source
    settings = { "bootstrap.servers" => broker.address, **broker.settings }
    <<~RUBY
      require "skep/kafka"
      require "active_record"
      class BadOrder < StandardError
        include Skep::Kafka::NonRetryable
      end
      class Order < ActiveRecord::Base; end
      Skep.swarm "rows", nodes: 3 do |swarm|
        swarm.preload { ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL")) }
        source = Skep::Kafka::Source.new(kafka: #{settings.inspect}, group: "#{@topic}",
                                         topics: "#{@topic}", dead_letter_topic: "#{@topic}.dead",
                                         offsets: :database, max_messages: 20, retry_for: 600)
        swarm.work(source) do |batch, node|
          batch.each do |message|
            number = Integer(message.payload)
            Order.create!(number:)
            raise BadOrder if (number % #{BAD}).zero?
            raise "now and then" if rand(400).zero?
          end
        end
      end
    RUBY
  end
end

ExactRows.play { play_out }
