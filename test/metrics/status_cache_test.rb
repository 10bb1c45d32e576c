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
    @cache = Skep::Metrics::StatusCache.new(@query)
  end

  test "asks the supervisor once for all requests that wait for its answer" do
    requests = Array.new(4) { Thread.new { @cache.read } }
    @query.asked.pop # one thread asks; the others wait for it, or get the cached answer
    @query.answer({ "name" => "a" })

    assert_equal [{ "name" => "a" }] * 4, requests.map(&:value)
    assert_empty @query.asked
  end

  test "asks again once its answer is old" do
    @query.answer({ "name" => "a" })
    @cache.read
    by = Skep::OS.now + 0.1
    @query.answer({ "name" => "b" })
    now = @cache.read while Skep::OS.now < by || now["name"] == "a"

    assert_equal [{ "name" => "b" }, 2], [now, @query.asked.size]
  end

  test "measures how long the supervisor took" do
    started = Skep::OS.now
    @query.answer({})
    @cache.read

    assert_operator @cache.duration, :>, 0
    assert_operator @cache.duration, :<=, Skep::OS.now - started
  end

  test "raises SupervisorTimeout if the supervisor doesn't answer, and asks again" do
    @query.answer(nil)
    error = assert_raises(Skep::Metrics::SupervisorTimeout) { @cache.read }

    assert_equal "the supervisor didn't answer within 2 s", error.message
  end
end
