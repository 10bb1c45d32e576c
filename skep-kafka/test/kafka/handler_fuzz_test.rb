# frozen_string_literal: true

require "test_helper"
require "kafka/fuzz/mutations"
require "kafka/fuzz/program"

# Random handlers against the rules that HandlerFuzz::Model knows: no message is lost, committed
# before it is done, dead-lettered without cause or with another message's error, or out of order.
# They run in children, because they may load Active Record.
class HandlerFuzzTest < Skep::TestCase
  SEEDS = 100 # of each test; `rake fuzz[10000]` runs more
  # What FailureHandler did before it looked at what the handler has marked.
  CHARGES_THE_REST = Module.new do
    def handler_raised(item, *, **)
      undo(item) unless item.marked == item.slice.last_offset
      super
    end
  end
  private_constant :SEEDS, :CHARGES_THE_REST

  def self.longest = 1_200 # seconds: it computes all the time, for 2 s on an idle machine

  def setup
    missing = Skep::Kafka::Librdkafka::Bindings.missing_library
    missing(missing) if missing
  end

  if ENV["SEED"]
    test "the program of the seed SEED breaks no rule" do
      puts HandlerFuzz::Program.random(Integer(ENV.fetch("SEED")))
      refute_broken { |search| search.seed(Integer(ENV.fetch("SEED"))) }
    end
  else
    4.times do |number|
      first = (number * SEEDS) + 1
      test "the programs #{first} to #{first + SEEDS - 1} break no rule" do
        refute_broken { |search| search.seeds(first...(first + SEEDS)) }
      end
    end
  end

  test "finds errors that are charged to a message behind the marked one" do
    found = in_search do |search|
      Skep::Kafka::Failure::FailureHandler.prepend(CHARGES_THE_REST)
      search.seeds(1..(5 * SEEDS))
    end

    assert_match(/another message's error|attempts of|ends the node|lost/, found)
  end

  test "each mutation's text is in the code once" do
    HandlerFuzz::Mutations::ALL.each do |bug|
      Dir.mktmpdir { |folder| bug.patches.each { |patch| patch.plant(folder) } }
    end
    assert_operator HandlerFuzz::Mutations::ALL.size, :>=, 15
  end

  private

  def refute_broken(&)
    report = in_search(&)
    assert_empty report
  end

  # Returns the block's report, from a child; an empty text if it has none.
  def in_search
    pid, reader = in_child do |writer|
      require "kafka/fuzz/search"
      writer.write(yield(HandlerFuzz::Search.new).to_s)
    end
    report = reader.read
    assert_predicate Process.wait2(pid).last, :success?
    report
  end
end
