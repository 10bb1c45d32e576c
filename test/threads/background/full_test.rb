# frozen_string_literal: true

require "test_helper"
require "skep/threads"

# A Background whose inbox has an end.
class BackgroundFullTest < Skep::TestCase
  Background = Skep::Threads::Background
  Inbox = Skep::Threads::Inbox
  private_constant :Background, :Inbox

  def setup
    super
    @gate, @taken, @did, @reports = Array.new(4) { Inbox.new }
  end

  def teardown
    @gate.close
    @worker&.close(timeout: 5)
    super
  end

  test "waits for room" do
    held(limit: 2)
    @worker.push(1).push(2)
    pusher = Thread.new { @worker.push(3) }
    assert_nil pusher.join(0.05)
    @gate.close
    assert_same @worker, pusher.value
    assert @worker.close(timeout: 5)
    assert_equal [0, 1, 2, 3], all(@did)
  end

  test "waits for room no longer than it may" do
    held(limit: 1)
    @worker.push(1)
    error = assert_raises(Inbox::Full) { @worker.push(2, timeout: 0.01) }
    assert_equal "the inbox of skep.held is full, at 1: push later, or give it a higher limit",
                 error.message
    assert_kind_of Skep::Error, error
  end

  test "tells who waits for room that it was closed" do
    held(limit: 1)
    @worker.push(1)
    pusher = Thread.new { assert_raises(Background::Closed) { @worker.push(2) } }
    refute @worker.close(timeout: 0.01)
    pusher.join
  end

  test "raises at once if it is to" do
    held(limit: 1, full: :raise)
    @worker.push(1)
    assert_raises(Inbox::Full) { @worker.push(2) }
    @gate.close
    assert @worker.close(timeout: 5)
    assert_equal [0, 1], all(@did)
  end

  test "drops the oldest if it is to, counts and tells" do
    held(limit: 3, full: :drop_oldest)
    (1..15).each { |number| @worker.push(number) }
    assert_equal 12, @worker.dropped
    @gate.close
    assert @worker.close(timeout: 5)
    assert_equal [0, 13, 14, 15], all(@did)
    assert_equal [1, 10, 12], all(@reports).map(&:count)
  end

  test "says how many it dropped" do
    held(limit: 1, full: :drop_oldest)
    3.times { |number| @worker.push(number + 1) }
    assert_equal "1 item was dropped so far, undone: push less, or give it a higher limit",
                 @reports.pop(timeout: 10).message
    @gate.close
    @worker.close
    assert_match(/\A2 items were dropped so far/, @reports.pop(timeout: 10).message)
  end

  test "doesn't wait for itself" do
    @worker = Background.new("self", limit: 1) do |inbox|
      inbox.each do |item|
        Array.new(2) { @worker.push(0) } unless item.zero?
      rescue Inbox::Full => e
        @did.push(e)
      end
    end
    @worker.push(1)
    assert_kind_of Inbox::Full, @did.pop(timeout: 10)
  end

  test "makes room in a forked child, too" do
    held(limit: 1, inherit: :items)
    @worker.push(1)
    _, reader = in_child do |writer|
      @gate.close
      3.times { |number| @worker.push(number + 2) }
      writer.puts @worker.close(timeout: 5), all(@did).inspect
    end
    assert_equal "true\n[1, 2, 3, 4]\n", wait_readable(reader).read
    Process.wait
  end

  test "refuses terms that are none" do
    [{ limit: 0 }, { limit: "5" }, { limit: 1.5 }, { full: :burst }, { inherit: :all },
     { restart: :soon }].each do |terms|
      error = assert_raises(ArgumentError, terms.to_s) { Background.new("odd", **terms) { nil } }
      assert_match(/#{terms.keys.first}/, error.message)
    end
  end

  private

  # One that has an item in hand, 0, and waits with it for the gate.
  def held(**terms)
    reporter = ->(error, _who) { @reports.push(error) }
    @worker = Background.new("held", reporter:, **terms) do |inbox|
      inbox.each do |item|
        @taken.push(item)
        @gate.pop
        @did.push(item)
      end
    end
    @worker.push(0)
    @taken.pop(timeout: 10)
  end

  def all(inbox) = Array.new(inbox.size) { inbox.pop }
end
