# frozen_string_literal: true

require "test_helper"

# Skep::Kafka::Testing in a test of a Rails application.
class ExecutorTest < Skep::TestCase
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "rails"
    require "json"
    require "skep/kafka/testing"
    class Current < ActiveSupport::CurrentAttributes
      attribute :order
    end
    class Shop < Rails::Application
      config.load_defaults 7.2
      config.eager_load = false
      config.logger = Logger.new(nil)
      initialize!
    end
    active = -> { Rails.application.executor.active? }
    seen, reported = [], []
    subscriber = Object.new
    subscriber.define_singleton_method(:report) do |error, context:, **|
      reported << [error.message, context.slice(:topic, :partition, :offset)]
    end
    Rails.error.subscribe(subscriber)
    source = Skep::Kafka::Source.new(
      kafka: { "bootstrap.servers": "b:1" }, group: "g", topics: "orders", max_messages: 1,
      on_assigned: ->(*) { seen << ["assigned", active.call] },
      on_revoked: lambda do |*|
        seen << ["revoked", active.call]
        raise "no disk"
      end
    )
    failed = false
    handler = lambda do |batch, _|
      seen << [batch.payloads.first, active.call, Current.order]
      Current.order = batch.payloads.first
      (failed = true) && raise("once") unless failed
    end
  RUBY
  private_constant :PROGRAM

  def setup
    super
    Gem::Specification.find_all_by_name("railties").any? or missing "the gem railties"
  end

  test "a test run calls the handler and callbacks in Rails' executor, without skep/rails" do
    found = found_by(<<~RUBY)
      outcome = Skep::Kafka::Testing.run(source, %w[a b], &handler)
      puts JSON.generate(seen:, reported:, done: outcome.done.size)
    RUBY
    assert_equal [["assigned", true], ["a", true, nil], ["a", true, nil], ["b", true, nil],
                  ["revoked", true]], found["seen"]
    place = { "topic" => "orders", "partition" => 0 }

    assert_equal [["once", { **place, "offset" => 0 }], ["no disk", place]], found["reported"]
    assert_equal 2, found["done"]
  end

  # As Rails' test cases are (config.active_support.executor_around_test_case).
  test "in a test that is in the executor itself, attributes aren't reset" do
    found = found_by(<<~RUBY)
      failed = true
      Rails.application.executor.wrap do
        Current.order = "of the test"
        Skep::Kafka::Testing.run(source, %w[a b], &handler)
        puts JSON.generate(seen:, left: Current.order)
      end
    RUBY
    assert_equal [["a", true, "of the test"], ["b", true, "a"]], found["seen"][1..2]
    assert_equal "b", found["left"]
  end

  private

  def found_by(test)
    out, err, status = run_program("#{PROGRAM}\n#{test}", gems: :bundler)
    assert_predicate status, :success?, "#{out}#{err}"
    JSON.parse(out)
  end
end
