# frozen_string_literal: true

require "test_helper"
require "skep/metrics"
require "skep/metrics/status_cache"

class StatusCacheTest < Skep::TestCase
  # A supervisor that answers when the test lets it.
  class Query
    attr_reader :asked

    def initialize
      @answers = Queue.new
      @asked = Queue.new
    end

    def answer(status) = @answers << status

    def ask(_timeout)
      @asked << true
      @answers.pop
    end
  end
  private_constant :Query

  def setup
    @query = Query.new
    @now = 100.0
    @cache = Skep::Metrics::StatusCache.new(@query, clock: -> { @now })
  end

  test "asks the supervisor once for all requests that wait for its answer" do
    requests = Array.new(4) { Thread.new { @cache.read } }
    @query.asked.pop # one thread asks; the others wait for it, or get the cached answer
    @query.answer({ "name" => "a" })

    assert_equal [{ "name" => "a" }] * 4, requests.map(&:value)
    assert_empty @query.asked
  end

  test "asks again once its answer is old" do
    %w[a b].each { |name| @query.answer({ "name" => name }) }
    names = [0.0, 0.09, 0.02].map do |passed|
      @now += passed
      @cache.read["name"]
    end

    assert_equal [%w[a a b], 2], [names, @query.asked.size]
  end

  test "measures how long the supervisor took" do
    query = Query.new
    cache = Skep::Metrics::StatusCache.new(query, clock: -> { @now += 0.5 })
    query.answer({})
    cache.read

    assert_in_delta 0.5, cache.duration
  end

  test "raises SupervisorTimeout if the supervisor doesn't answer, and asks again" do
    @query.answer(nil)
    error = assert_raises(Skep::Metrics::SupervisorTimeout) { @cache.read }

    assert_equal "the supervisor didn't answer within 2 s", error.message
  end
end
