# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "rbconfig"

# Each test runs in its own Ruby process, with a fresh heap.
class FreeSlotsTest < Skep::TestCase
  PRELUDE = <<~'RUBY'
    require "json"
    require "skep/kafka"
    FreeSlots = Skep::Kafka.const_get(:FreeSlots)

    def slots = GC.stat(:heap_available_slots)

    def batch(size, payload: "x" * 90)
      Skep::Kafka::Batch.new("orders", 0, Array.new(size) do |offset|
        Skep::Kafka::Message.new("orders", 0, offset, nil, payload, -1, {})
      end)
    end
  RUBY
  private_constant :PRELUDE

  test "make_for grows the heap, and garbage collection stays enabled" do
    grown, disabled = run_ruby(<<~'RUBY')
      some = batch(500)
      before = slots
      FreeSlots.make_for(some, messages: 200_000)
      [slots - before, GC.disable]
    RUBY
    refute disabled
    assert_operator grown, :>, 100_000
  end

  test "fewer garbage collections follow make_for" do
    usual, fewer = [false, true].map do |grow|
      run_ruby(<<~RUBY)
        FreeSlots.make_for(batch(500), messages: 100_000) if #{grow}
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
      large = batch(10, payload: "x" * (4 << 20))
      before = slots
      FreeSlots.make_for(large, messages: 200_000)
      slots - before
    RUBY
    assert_operator grown, :<, 50_000
  end

  test "garbage collection stays disabled if the application has disabled it" do
    assert run_ruby(<<~'RUBY')
      GC.disable
      FreeSlots.make_for(batch(10), messages: 10)
      GC.enable
    RUBY
  end

  private

  # Returns the value of the source's last line.
  def run_ruby(source)
    program = "#{PRELUDE}\nputs JSON.generate([begin\n#{source}\nend])"
    lib = File.expand_path("../../lib", __dir__)
    printed, status = Open3.capture2(RbConfig.ruby, "-W0", "-I#{lib}", "-e", program)

    assert status.success?
    JSON.parse(printed).first
  end
end
