# frozen_string_literal: true

require "test_helper"
require "skep/metrics"
require "skep/metrics/status_cache"

class StatusCacheTest < Skep::TestCase
  # A supervisor that answers when the test lets it. meanwhile: what happens until then.
  class Query
    attr_reader :asked

    def initialize(&meanwhile)
      @meanwhile = meanwhile
      @answers = Queue.new
      @asked = Queue.new
    end

    def answer(status) = @answers << status

    def ask(_timeout)
      @asked << true
      @meanwhile&.call
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

  test "keeps an answer for five times the seconds that it took" do
    query, cache = slow(0.5)
    %w[a b c].each { |name| query.answer({ "name" => name }) }
    names = [0.0, 2.4, 0.2].map do |passed|
      @now += passed
      cache.read["name"]
    end

    assert_equal %w[a a b], names
  end

  test "asks again 0.1 s after a timeout, however long it took" do
    query, cache = slow(2.0)
    query.answer(nil)
    assert_raises(Skep::Metrics::SupervisorTimeout) { cache.read }
    query.answer({ "name" => "a" })
    @now += 0.11

    assert_equal "a", cache.read["name"]
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

  private

  # Returns a supervisor that takes so many seconds, and the cache that asks it.
  def slow(seconds)
    query = Query.new { @now += seconds }
    [query, Skep::Metrics::StatusCache.new(query, clock: -> { @now })]
  end
end
