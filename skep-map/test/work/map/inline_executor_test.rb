# frozen_string_literal: true

require "test_helper"
require "skep/work"
require "timeout"

# `in_threads:` ends as a map by nodes does, whatever ends its threads.
class MapInlineExecutorTest < Skep::TestCase
  class Broken < StandardError
  end

  ENDS = [NotImplementedError, NoMemoryError, SystemExit, Interrupt, Broken,
          Class.new(Exception)].freeze
  private_constant :ENDS

  # A map that hangs fails the test (HangWatch): with another live thread Ruby's deadlock detector
  # doesn't end it.
  def setup
    @other = Thread.new { Thread.stop }
  end

  def teardown
    @other.kill.join
  end

  ENDS.each do |error|
    test "raises the block's #{error.name || "Exception"}" do
      assert_raises(error) { Skep.map(1..10, in_threads: 2) { raise error } }
    end

    test "raises a hook's #{error.name || "Exception"}, and starts no item after it" do
      %i[start finish].each do |broken|
        calls = []
        hooks = %i[start finish].to_h do |hook|
          [hook, lambda { |item, *|
            calls << hook
            raise error if hook == broken && item == 4
          }]
        end
        assert_raises(error) { Skep.map(1..40, in_threads: 4, **hooks) { calls.size } }
        count = calls.size
        assert_equal broken, calls.last
        assert_operator count, :<, 80
      end
    end
  end

  test "an exception has its item and index, whatever its class" do
    error = assert_raises(NotImplementedError) do
      Skep.map(%w[a b], in_threads: 1) { |item| raise NotImplementedError if item == "b" }
    end
    assert_equal ["b", 1], [error.skep_item, error.skep_index]
  end

  test "raises if the block ends its thread" do
    error = assert_raises(Skep::Error) { Skep.map(1..10, in_threads: 2) { Thread.exit } }
    assert_match(/The block ended its thread/, error.message)
  end

  test "raises an Interrupt in the caller although a hook has raised" do
    program = <<~RUBY
      require "skep"
      Thread.new { Thread.stop }
      main = Thread.current
      begin
        Skep.map(1..10, in_threads: 2, start: ->(*) { main.raise(Interrupt) if main.alive?; raise "x" }) { }
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    out, err, = run_program(program)
    assert_equal ["interrupted\n", ""], [out, err]
  end

  test "a Timeout around the map isn't replaced by what its threads raise when they end" do
    assert_raises(Timeout::Error) do
      Timeout.timeout(0.2) do
        Skep.map(1..10, in_threads: 2) do
          IO.select(nil)
        ensure
          raise NotImplementedError
        end
      end
    end
  end

  test "leaves SKEP_NODE_ID to the process, and numbers its threads by name" do
    was = ENV.fetch("SKEP_NODE_ID", nil)
    ENV["SKEP_NODE_ID"] = "7"
    facts = Skep.map(1..20, in_threads: 3) { [ENV.fetch("SKEP_NODE_ID"), Thread.current.name] }
    assert_equal ["7"], facts.map(&:first).uniq
    assert_empty facts.map(&:last) - %w[skep.map.0 skep.map.1 skep.map.2]
  ensure
    ENV["SKEP_NODE_ID"] = was
  end
end
