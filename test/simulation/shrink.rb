# frozen_string_literal: true

require "simulation/campaign"

# Reduces a schedule that breaks an invariant to the smallest one that breaks the same one: fewest
# events, plainest options.
#
#   Shrink.new(Schedule.of(42)).least   # => a Schedule; run it again and it breaks the invariant
module Simulation
  class Shrink
    PLAIN = {
      "spares" => 0, "restart" => "always", "on_crash_loop" => "backoff", "works" => nil,
      "helper" => nil, "refork_after" => nil, "max_lifetime" => nil,
      "memory_budget" => nil, "memory_limit" => nil, "never_restart_on" => nil, "nodes" => 1,
      "boot_concurrency" => 3, "max_restarts" => 4, "boot_timeout" => 3.0,
      "liveness_timeout" => 5.0, "stop_timeout" => 4.0, "kill_timeout" => 1.0
    }.freeze
    private_constant :PLAIN

    attr_reader :invariant, :runs

    # The block returns the invariant that a schedule breaks, or nil.
    def initialize(schedule, &verdict)
      @verdict = verdict || Campaign.method(:verdict)
      @schedule = schedule
      @runs = 0
      @invariant = invariant_of(schedule)
    end

    def least
      return unless @invariant

      before = nil
      before, @schedule = @schedule, plainer(fewer(@schedule)) until before == @schedule
      @schedule
    end

    private

    def fewer(schedule)
      (schedule.events.size - 1).downto(0).reduce(schedule) do |least, index|
        better(least, least.without(index))
      end
    end

    def plainer(schedule)
      PLAIN.reduce(schedule) do |plain, (name, value)|
        plain.options[name] == value ? plain : better(plain, plain.with_option(name, value))
      end
    end

    def better(schedule, other) = invariant_of(other) == @invariant ? other : schedule

    # Returns the broken invariant: the sentence without its numbers.
    def invariant_of(schedule)
      @runs += 1
      @verdict.call(schedule)&.gsub(/\d+/, "0")&.slice(0, 40)
    end
  end
end
