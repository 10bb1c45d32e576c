# frozen_string_literal: true

require "test_helper"
require "simulation/shrink"
require "simulation/mutations"

class SimulationReplayTest < Skep::TestCase
  SEEDS = 1..60
  # Prints the result of each seed, without facts of the process.
  PROGRAM = <<~RUBY
    $LOAD_PATH << "#{File.expand_path("..", __dir__)}"
    require "simulation/campaign"
    GC.disable if ARGV.include?("uncollected")
    Array.new(ARGV.size) { Object.new } # other objects have other ids and places
    Integer(ARGV[0]).upto(Integer(ARGV[1])) do |seed|
      world = Simulation::World.new(Simulation::Schedule.of(seed)).run
      events = world.log.map do |time, name, facts|
        [time, name, facts.slice(:node, :mold, :reason, "signal")]
      end
      p [seed, world.code, world.kernel.turns, world.violations, events]
    end
  RUBY
  private_constant :SEEDS, :PROGRAM

  test "a seed gives the same result in each process, with any hash seed and without GC" do
    runs = [replay(SEEDS.first, SEEDS.last), replay(SEEDS.first, SEEDS.last, "uncollected")]
    assert_equal SEEDS.size, runs.first.lines.size
    assert_equal(*runs)
  end

  test "reduces a schedule that breaks an invariant to the events that it needs" do
    events = (1..9).map { |number| [number * 1.0, :die, number] }
    schedule = Simulation::Schedule.new(1, { "nodes" => 4 }, events, 10)
    shrink = Simulation::Shrink.new(schedule) do |one|
      "slot #{one.events.size} is lost" if ([[3.0, :die, 3], [7.0, :die, 7]] - one.events).empty?
    end
    least = shrink.least
    assert_equal [[3.0, :die, 3], [7.0, :die, 7]], least.events
    assert_equal 1, least.options["nodes"]
    assert_nil Simulation::Shrink.new(schedule) { nil }.least
  end

  test "each mutation's text is in the code once" do
    Simulation::Mutations::ALL.each_value do |patches|
      Dir.mktmpdir { |folder| Simulation::Mutations.plant_all(folder, patches) }
    end
    assert_operator Simulation::Mutations::ALL.size, :>=, 15
  end

  test "a hundred seeds break no invariant" do
    found = Simulation::Campaign.new(1..100, workers: 1).run
    assert_empty found
  end

  private

  def replay(*arguments)
    out, err, status = run_program(PROGRAM, arguments.map(&:to_s))
    assert_predicate status, :success?, err
    out
  end
end
