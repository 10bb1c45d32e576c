# frozen_string_literal: true

require "test_helper"
require "json"

# Offsets in a database, of a topic that was deleted and created again.
class TopicsOfDatabaseOffsetsTest < Skep::TestCase
  # Processes ranges of offsets, each with the topic's id as the node knows it, and as the broker
  # answers. Prints the row after each, or the error, and the events.
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "active_record"
    require "json"
    require "skep/kafka"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    include Skep::Kafka
    DatabaseOffsets.create_table(ActiveRecord::Base.connection)
    columns = JSON.parse(ARGV.fetch(1))
    if columns.any?
      ActiveRecord::Base.connection.remove_columns("skep_offsets", *columns)
    end

    Partition = Struct.new(:topic, :number, :origin, :database_offset, :left_offset) do
      def key = [topic, number]
      def epoch(_) = 0
    end
    Item = Struct.new(:partition, :slice, :last_offset)
    Slice = Struct.new(:first_offset)
    consumer, report = Object.new, Object.new
    def consumer.end_of(*) = 1_000
    events = []
    report.define_singleton_method(:event) { |name, **facts| events << [name, facts] }
    answer = nil
    Consumer::TopicRecreation.define_singleton_method(:ids_of) { |*| answer }
    offsets = DatabaseOffsets.new("billing", consumer, report)
    rows = JSON.parse(ARGV.fetch(0)).map do |first, last, known, answered|
      answer = { "orders" => answered } if answered
      origin = Processing::OffsetOrigin.new("here", known) if known
      partition = Partition.new("orders", 0, origin)
      offsets.advance(Item.new(partition, Slice.new(first), last))
      DatabaseOffsets.__record.pick(:next_offset, *(:topic_id if columns.empty?))
    rescue OffsetsFailed => e
      e.class.name
    end
    puts JSON.generate([rows, events])
  RUBY
  private_constant :PROGRAM

  def setup
    super
    %w[activerecord sqlite3].each do |name|
      Gem::Specification.find_all_by_name(name).any? or missing "the gem #{name}"
    end
  end

  test "a row's offset doesn't count for a topic that was created again" do
    rows, events = process([[40, 41, "former"], [0, 4, "now", "now"], [5, 9, "now"]])
    assert_equal [[42, "former"], [5, "now"], [10, "now"]], rows
    assert_equal [["kafka_database_offset_reset", 42, 0]], resets(events)
  end

  test "nothing is done as long as the broker's answers differ, or don't come" do
    rows, events = process([[40, 41, "now"], [0, 4, "late", "now"], [42, 49, "now"]])
    assert_equal [[42, "now"], "Skep::Kafka::OffsetsFailed", [50, "now"]], rows
    assert_equal [[42, "now"], "Skep::Kafka::OffsetsFailed"],
                 process([[40, 41, "now"], [0, 4, "other"]]).first
    assert_empty events
  end

  test "a row counts if the topic isn't known, and names it once it is" do
    rows, events = process([[40, 41, nil], [42, 43, "now"], [44, 45, nil]])
    assert_equal [[42, nil], [44, "now"], [46, "now"]], rows
    assert_empty events
  end

  test "a table without the topic's columns has offsets alone" do
    rows, events = process([[40, 41, "former"], [0, 44, "now"]], without: %w[cluster_id topic_id])
    assert_equal [42, 45], rows
    assert_empty events
  end

  private

  def process(steps, without: [])
    arguments = [steps, without].map { |one| JSON.generate(one) }
    out, err, status = run_program("ARGV.replace(#{arguments.inspect})\n#{PROGRAM}", gems: :bundler)
    assert_predicate status, :success?, "#{out}#{err}"
    JSON.parse(out)
  end

  def resets(events) = events.map { |name, facts| [name, *facts.values_at("offset", "to")] }
end
