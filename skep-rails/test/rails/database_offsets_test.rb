# frozen_string_literal: true

require "test_helper"

# A source with `offsets: :database`, whose database says what is done.
class DatabaseOffsetsTest < Skep::TestCase
  # Message 1 of three has crashed three nodes alone. Before a run the database has the partition's
  # next offset.
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "active_record"
    require "json"
    require "skep/kafka"
    require "skep/kafka/testing"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    ActiveRecord::Schema.verbose = false
    ActiveRecord::Schema.define { Skep::Kafka::DatabaseOffsets.create_table(self) }
    suspect = { in_flight: "orders/0/1-1", current_item: 1, crashes: 3, alone: 3, ends: ["SIGSEGV"],
                slots: [0], time: Skep::OS.now }
    run = lambda do |next_offset|
      before = lambda do |*|
        row = { consumer_group: "g", topic: "orders", partition: 0, next_offset:,
                updated_at: Time.now }
        Skep::Kafka::DatabaseOffsets.__record.insert(row)
      end
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "b:1" }, group: "g",
                                       topics: "orders", dead_letter_topic: "dead",
                                       offsets: :database, on_assigned: before)
      node = Skep::Kafka::Testing.node
      node.crash_suspects.__receive("added" => [suspect.transform_keys(&:to_s)])
      handled = []
      result = Skep::Kafka::Testing.run(source, %w[a b c], node:) do |batch|
        handled.concat(batch.payloads)
      end
      { handled:, dead: result.dead_lettered.map(&:payload), suspects: node.crash_suspects.count }
    end
    puts JSON.generate([run.call(2), run.call(1)])
  RUBY
  private_constant :PROGRAM

  def setup
    super
    %w[activerecord sqlite3].each do |name|
      Gem::Specification.find_all_by_name(name).any? or missing "the gem #{name}"
    end
  end

  test "a poison message is dead-lettered only if it isn't done according to the database" do
    out, err, status = run_program(PROGRAM, gems: :bundler)
    assert_predicate status, :success?, "#{out}#{err}"
    done, undone = JSON.parse(out, symbolize_names: true)

    assert_equal({ handled: %w[c], dead: [], suspects: 0 }, done)
    assert_equal({ handled: %w[c], dead: %w[b], suspects: 0 }, undone)
  end
end
