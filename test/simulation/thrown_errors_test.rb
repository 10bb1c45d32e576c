# frozen_string_literal: true

require "test_helper"
require "simulation/campaign"

# Callbacks of the supervisor's loop raise at random, before or after they have run: bugs of skep's,
# wherever they are. The supervisor reports each, and still ends in order: with an exit code, and
# without a process or a descriptor left. What else such a bug breaks isn't asked here.
class ThrownErrorsTest < Skep::TestCase
  # Raises in about one of a hundred callbacks while a dice is given; not in the guard's own, which
  # watches a descriptor again.
  module Thrower
    class << self
      attr_accessor :dice, :supervisor

      def throws? = dice && supervisor.call&.nodes_requested? && dice.rand(100).zero?
    end

    def __call(*)
      return super if @block&.source_location&.first.to_s.end_with?("/os/event_loop.rb")
      raise "thrown before a callback" if Thrower.throws?

      super
      raise "thrown after a callback" if Thrower.throws?
    end
  end
  SEEDS = [*1..40, 105].freeze
  SHOWN = /\A(?:processes without an owner|not reaped|open descriptors|\w*Error)/
  private_constant :Thrower, :SEEDS, :SHOWN

  test "a supervisor whose callbacks raise at random ends in order, and reports it" do
    pid, reader = in_child do |writer|
      [Skep::OS::EventLoop::Timer, Skep::OS::EventLoop::Watch].each { |one| one.prepend(Thrower) }
      writer.puts(SEEDS.map { |seed| outcome(seed) })
    end
    wait_readable(reader, 120)
    lines = reader.read.lines(chomp: true)
    Process.wait(pid)
    reader.close
    assert_equal SEEDS.size, lines.size, lines.last
    assert_empty lines.grep_v(/\Aok/)
    assert_operator lines.count { |line| line.end_with?(" reported") }, :>, 10
  end

  private

  # Errors are thrown as soon as nodes are requested: before that they end the supervisor.
  def outcome(seed)
    world = Simulation::World.new(Simulation::Schedule.of(seed))
    Thrower.supervisor = -> { world.supervisor }
    Thrower.dice = Random.new(seed)
    world.run
    bad = world.violations.map(&:last).grep(SHOWN).grep_v(/\Asupervisor_error/)
    reported = world.log.any? { |_, name, _| name == "supervisor_error" }
    return "seed #{seed}: #{bad.first}" if bad.any?
    return "seed #{seed}: no exit code" unless world.code

    "ok#{" reported" if reported}"
  ensure
    Thrower.dice = nil
  end
end
