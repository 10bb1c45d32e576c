# frozen_string_literal: true

require "test_helper"

# Names that were given up stay given up. The CHANGELOG may tell of them.
class NamesTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  # What they are called now: docs/decisions/names-of-the-swarm.md.
  CONSTANTS = %w[
    Adoption Ancestry Blank Budgeting CanaryRollout Caster Cells CpuTime Endings FileLocks
    FirstBoot Footprint Foundry Garbled Guardian Handover Headroom HeldLocks HeldSignals Household
    InMold InNode Inquest Insistence Kept LastHeap Lifeline Liveness Mischief MoldMessages
    MoldRestarts NodeRegistry Obstacle Offspring Premises Recasting Recoveries Registrar Remains
    Renewals Reserve Resident Resumption Revival RobustLocks RollCall RollingRestart Scales Seat
    SelfPipes SignalNumber Slab SlotClaim SlotLock Succession Surroundings Survey Suspicions Tenure
    Terms Twin Undone Upgradable Upkeep Vigil Watchman Weighing
  ].freeze
  WORDS = %w[
    absolve ancestry canary_rollout caster first_boot footprint footprints foundry garbled hand_on
    handover headroom held_signals household in_mold in_node inquest insistence last_heap mischief
    mold_messages node_registry offspring recasting registrar resumption robust_locks roll_call
    rolling_restart seats slot_claim slot_lock succession surroundings suspicions testify twin
    twins upkeep vigil watchman weighing
  ].freeze
  EVENTS = %w[
    mold_garbled mold_refused node_deaf node_done node_garbled node_leaking node_left option_idle
    refork_begun refork_done reload_begun reload_done restart_begun restart_done upgrade_begun
    upgrade_done
  ].freeze
  # docs/decisions/names-of-map-and-rails.md
  MAP_AND_RAILS = %w[
    AtItem BadQueue Courier Harvest NoApplication NodeError NoJob NotEnqueued Ordeal
    Performer at_item cargo courier harvest node_error ordeal parcel parcels performer
  ].freeze
  # docs/decisions/names-of-kafka.md
  KAFKA = %w[
    Aloud Asker BadSource Bounds CallFailed ClientFailed Codes Custody DeadLetter Desk Doubt
    ErrorText Farewell FencedItself Gauge Haul Hurry Inquiry Intake Keyring Leeway Ledger
    LingerFlush MessageFilter Namesakes NoBroker NotDelivered Outbox PartitionList PoisonVerdict
    Press Producing QueuePosition Rehearsal Resting RunQueue SecretSettings Seeker Sender Setback
    SharedLibrary Shelf Sieve Strand Trails TransactionOutcome Transactor Unanswered Unclosed
    Undelivered Whereabouts
    custody farewell haul hauls hurry inquiry intake keyring leeway namesakes outbox outlets
    rehearsal seeker setback sieve transactor unclosed whereabouts
  ].freeze
  OLD = /\b(?:#{[*CONSTANTS, *WORDS, *EVENTS, *MAP_AND_RAILS, *KAFKA].join("|")})\b/
  private_constant :ROOT, :CONSTANTS, :WORDS, :EVENTS, :MAP_AND_RAILS, :KAFKA, :OLD

  test "nothing has a name that was given up" do
    found = files.flat_map do |file|
      lines = File.readlines("#{ROOT}/#{file}", encoding: "UTF-8")
      lines.each_with_index.filter_map { |line, i| "#{file}:#{i + 1}: #{line}" if line.match?(OLD) }
    end
    assert_empty found
    refute_empty files
  end

  private

  def files
    found = Dir.glob("{lib,ext,exe,test,examples,docs,man}/**/*.{rb,c,h,md,1,yml}", base: ROOT)
    found += %w[README.md CONTRIBUTING.md]
    found - %w[test/names_test.rb docs/decisions/names-of-the-swarm.md
               docs/decisions/names-of-map-and-rails.md docs/decisions/names-of-kafka.md]
  end
end
