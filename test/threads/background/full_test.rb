# frozen_string_literal: true

require "test_helper"
require "skep/threads"

# A Background whose inbox has a limit.
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

  test "push waits for room" do
    held(limit: 2)
    @worker.push(1).push(2)
    pusher = Thread.new { @worker.push(3) }
    assert_nil pusher.join(0.05)
    @gate.close
    assert_same @worker, pusher.value
    assert @worker.close(timeout: 5)
    assert_equal [0, 1, 2, 3], all(@did)
  end

  test "push raises Full at its timeout" do
    held(limit: 1)
    @worker.push(1)
    error = assert_raises(Inbox::Full) { @worker.push(2, timeout: 0.01) }
    assert_equal "the inbox of skep.held is full, at 1: push later, or give it a higher limit",
                 error.message
    assert_kind_of Skep::Error, error
  end

  test "close makes a push that waits for room raise Closed" do
    held(limit: 1)
    @worker.push(1)
    pusher = Thread.new { assert_raises(Background::Closed) { @worker.push(2) } }
    refute @worker.close(timeout: 0.01)
    pusher.join
  end

  test "push raises Full at once with full: :raise" do
    held(limit: 1, full: :raise)
    @worker.push(1)
    assert_raises(Inbox::Full) { @worker.push(2) }
    @gate.close
    assert @worker.close(timeout: 5)
    assert_equal [0, 1], all(@did)
  end

  test "full: :drop_oldest drops, counts and reports the oldest items" do
    held(limit: 3, full: :drop_oldest)
    (1..15).each { |number| @worker.push(number) }
    assert_equal 12, @worker.dropped
    @gate.close
    assert @worker.close(timeout: 5)
    assert_equal [0, 13, 14, 15], all(@did)
    assert_equal [1, 10, 12], all(@reports).map(&:count)
  end

  test "reports how many items it dropped, and once more at close" do
    held(limit: 1, full: :drop_oldest)
    3.times { |number| @worker.push(number + 1) }
    assert_equal "1 item was dropped so far, undone: push less, or give it a higher limit",
                 @reports.pop(timeout: 10).message
    @gate.close
    @worker.close
    assert_match(/\A2 items were dropped so far/, @reports.pop(timeout: 10).message)
  end

  test "a push inside its own block doesn't wait" do
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

  test "makes room for pushes in a forked child, too" do
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

  test "raises for invalid options" do
    [{ limit: 0 }, { limit: "5" }, { limit: 1.5 }, { full: :burst }, { inherit: :all },
     { restart: :soon }].each do |terms|
      error = assert_raises(ArgumentError, terms.to_s) { Background.new("odd", **terms) { nil } }
      assert_match(/#{terms.keys.first}/, error.message)
    end
  end

  private

  # Starts a Background in which item 0 is in progress until the gate closes.
  def held(**terms)
    reporter = ->(error, _source) { @reports.push(error) }
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
