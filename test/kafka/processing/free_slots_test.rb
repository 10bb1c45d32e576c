# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "rbconfig"

# Each test in a Ruby of its own, whose heap nothing else has filled.
class FreeSlotsTest < Skep::TestCase
  PRELUDE = <<~'RUBY'
    require "json"
    require "skep/kafka"
    FreeSlots = Skep::Kafka::Processing.const_get(:FreeSlots)

    def slots = GC.stat(:heap_available_slots)

    def batch(size, payload: "x" * 90)
      Skep::Kafka::Batch.new("orders", 0, Array.new(size) do |offset|
        Skep::Kafka::Message.new("orders", 0, offset, nil, payload, -1, {})
      end)
    end
  RUBY
  private_constant :PRELUDE

  test "the heap grows once so many messages are done, and collections go on" do
    early, done, grown, disabled = run_ruby(<<~'RUBY')
      free_slots = FreeSlots.new(messages: 200_000)
      early = free_slots.batch_done(batch(199_999))
      before = slots
      done = free_slots.batch_done(batch(500))
      [early, done, slots - before, GC.disable]
    RUBY
    assert_equal [false, true, false], [early, done, disabled]
    assert_operator grown, :>, 100_000
  end

  test "fewer collections follow" do
    usual, fewer = [false, true].map do |grow|
      run_ruby(<<~RUBY)
        free_slots = FreeSlots.new(messages: 100_000)
        200.times { free_slots.batch_done(batch(500)) } if #{grow}
        GC.start
        before = GC.count
        1_000_000.times { Object.new }
        GC.count - before
      RUBY
    end
    assert_operator fewer, :<, usual
  end

  test "large payloads get fewer slots" do
    grown = run_ruby(<<~'RUBY')
      free_slots = FreeSlots.new(messages: 200_000)
      free_slots.batch_done(batch(199_990))
      large = batch(10, payload: "x" * (4 << 20))
      before = slots
      free_slots.batch_done(large)
      slots - before
    RUBY
    assert_operator grown, :<, 50_000
  end

  test "an application that has disabled collections keeps them disabled" do
    assert run_ruby(<<~'RUBY')
      GC.disable
      FreeSlots.new(messages: 10).batch_done(batch(10))
      GC.enable
    RUBY
  end

  private

  # Returns the value of the source's last line.
  def run_ruby(source)
    program = "#{PRELUDE}\nputs JSON.generate([begin\n#{source}\nend])"
    lib = File.expand_path("../../../lib", __dir__)
    printed, status = Open3.capture2(RbConfig.ruby, "-W0", "-I#{lib}", "-e", program)

    assert status.success?
    JSON.parse(printed).first
  end
end
