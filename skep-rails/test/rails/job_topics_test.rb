# frozen_string_literal: true

require "test_helper"
require "skep/error"
require "skep/rails/errors"
require "skep/rails/job_topics"

class RailsJobTopicsTest < Skep::TestCase
  JobTopics = Skep::Rails.const_get(:JobTopics)
  private_constant :JobTopics

  test "a queue's topic has its name" do
    topics = JobTopics.new("shop.jobs.", [60, 5])
    assert_equal %w[shop.jobs.mailers shop.jobs.dead], [topics.of("mailers"), topics.dead]
    assert_equal({ "shop.jobs.delay-5s" => 5, "shop.jobs.delay-60s" => 60 }, topics.delayed)
    assert_equal [5, 60], topics.delayed.values
  end

  test "rejects a queue whose name isn't valid in a topic" do
    refused = ["no queue", "a:b", "ü", "x" * 250].to_h { |queue| [queue, refusal(queue)] }
    refused.each_value { |text| assert_match(/\AQueue .* can't have a topic\. Use letters/, text) }
  end

  test "rejects the names of skep's own topics" do
    %w[dead delay-5s delay-0.5s].each { |queue| assert_match(/Choose another/, refusal(queue)) }
    assert_nil refusal("deadlines")
  end

  private

  def refusal(queue)
    JobTopics.new("jobs.", []).of(queue)
    nil
  rescue Skep::Rails::InvalidQueueName => e
    e.message
  end
end
