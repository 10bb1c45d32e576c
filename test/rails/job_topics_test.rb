# frozen_string_literal: true

require "test_helper"
require "skep/error"
require "skep/rails/errors"
require "skep/rails/job_topics"

class RailsJobTopicsTest < Skep::TestCase
  JobTopics = Skep::Rails.const_get(:JobTopics)
  private_constant :JobTopics

  test "a queue is a topic" do
    topics = JobTopics.new("shop.jobs.", [60, 5])
    assert_equal %w[shop.jobs.mailers shop.jobs.dead], [topics.of("mailers"), topics.dead]
    assert_equal({ "shop.jobs.delay-5s" => 5, "shop.jobs.delay-60s" => 60 }, topics.delayed)
    assert_equal [5, 60], topics.delayed.values
  end

  test "a queue that no topic can be named after gets a sentence" do
    refused = ["no queue", "a:b", "ü", "x" * 250].to_h { |queue| [queue, refusal(queue)] }
    refused.each_value { |text| assert_match(/\Ano topic can be named .* take letters/, text) }
  end

  test "skep's own topics are no queues" do
    %w[dead delay-5s delay-0.5s].each { |queue| assert_match(/choose another/, refusal(queue)) }
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
