# frozen_string_literal: true

require "test_helper"

# Names that were given up stay given up. The CHANGELOG may tell of them.
class NamesTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  # What they are called now: docs/decisions/names-of-the-swarm.md.
  CONSTANTS = %w[
    Ancestry Caster Endings FirstBoot Footprint Foundry Headroom HeldSignals Household Inquest
    Insistence LastHeap Lifeline Mischief Obstacle Offspring Premises Recasting Registrar Remains
    Renewals Resumption RollCall Succession Surroundings Suspicions Tenure Twin Upkeep Vigil
    Watchman Weighing
  ].freeze
  WORDS = %w[
    ancestry caster first_boot foundry headroom held_signals household inquest insistence last_heap
    mischief offspring recasting registrar resumption roll_call suspicions twin twins upkeep
    vigil watchman weighing
  ].freeze
  EVENTS = %w[
    mold_garbled mold_refused node_deaf node_done node_garbled node_left option_idle
    refork_begun refork_done reload_begun reload_done restart_begun restart_done upgrade_begun
    upgrade_done
  ].freeze
  OLD = /\b(?:#{[*CONSTANTS, *WORDS, *EVENTS].join("|")})\b/
  private_constant :ROOT, :CONSTANTS, :WORDS, :EVENTS, :OLD

  test "nothing has a name that was given up" do
    found = files.flat_map do |file|
      lines = File.readlines("#{ROOT}/#{file}", encoding: "UTF-8")
      lines.each_with_index.filter_map { |line, i| "#{file}:#{i + 1}: #{line}" if line.match?(OLD) }
    end
    assert_empty found
  end

  private

  def files
    found = Dir.glob("{lib,ext,exe,test,examples,docs,man}/**/*.{rb,c,h,md,1,yml}", base: ROOT)
    found += %w[README.md CONTRIBUTING.md]
    found - %w[test/names_test.rb docs/decisions/names-of-the-swarm.md]
  end
end
