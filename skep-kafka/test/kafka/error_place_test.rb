# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

class KafkaErrorPlaceTest < Skep::TestCase
  LIB = File.expand_path("../../lib", __dir__)
  private_constant :LIB

  test "a backtrace ends where a worker called the handler, and its place is the application's" do
    batch = "#{LIB}/skep/kafka/batch.rb:48:in `each'"
    worker = "#{LIB}/skep/kafka/processing/worker.rb:201:in `handle'"
    app = "#{Dir.pwd}/app/order.rb:12:in `bill'"
    error = RuntimeError.new("no").tap { |one| one.set_backtrace([batch, app, worker, app]) }
    assert_equal [batch, app], Skep::ErrorPlace.backtrace(error)
    assert_equal "app/order.rb:12", Skep::ErrorPlace.of(error)
  end
end
