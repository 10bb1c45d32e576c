# frozen_string_literal: true

require "test_helper"

# Handlers of a Kafka source with a pool of Active Record that has too few connections.
class DatabasePoolTest < Skep::TestCase
  # A pool of one connection, which another thread has for the first three attempts.
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "active_record"
    require "json"
    require "skep/kafka"
    require "skep/kafka/testing"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:", pool: 1,
                                            checkout_timeout: 0.05)
    pool = ActiveRecord::Base.connection_pool
    taken, free = Thread::Queue.new, Thread::Queue.new
    other = Thread.new { pool.with_connection { (taken << true) && free.pop } }
    taken.pop
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "b:1" }, group: "g", threads: 6,
                                     topics: "orders", dead_letter_topic: "dead", max_attempts: 2,
                                     retry_for: 0)
    attempts = 0
    result = Skep::Kafka::Testing.run(source, ["a"]) do |batch|
      (free << true) && other.join if (attempts += 1) == 4
      pool.with_connection { |connection| connection.execute("select 1") }
      batch.each { nil }
    end
    failed = result.node.events.select { |name, *| name == :handler_failed }
    puts JSON.generate(attempts:, dead: result.dead_lettered.size, warnings: source.warnings,
                       hints: failed.map { |_, _, facts| facts[:hint] }.uniq)
  RUBY
  private_constant :PROGRAM

  def setup
    super
    %w[activerecord sqlite3].each do |name|
      Gem::Specification.find_all_by_name(name).any? or missing "the gem #{name}"
    end
  end

  test "a handler that gets no connection is retried, and its message isn't dead-lettered" do
    found = found_by_program

    assert_equal [4, 0], found.values_at("attempts", "dead")
    assert_equal 1, found["hints"].size
    assert_match(/\ANo connection of Active Record's pool \(1\) was free for one of 6 threads/,
                 found["hints"].first)
  end

  test "a source with more threads than connections has a warning" do
    warning = found_by_program["warnings"].grep(/Active Record/).first

    assert_match(/pool has 1 connections for this source's 6 threads.* max_connections .* pool/,
                 warning)
  end

  private

  def found_by_program
    out, err, status = run_program(PROGRAM, gems: :bundler)
    assert_predicate status, :success?, "#{out}#{err}"
    JSON.parse(out)
  end
end
