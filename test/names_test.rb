# frozen_string_literal: true

require "test_helper"

# Names that were given up stay given up. A page's sentences may use any word: only its code is
# read.
class NamesTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
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
    refork_begun refork_done reload_begun reload_done restart_begun restart_done
    upgrade_begun upgrade_done upgrade_failed upgrade_finished upgrade_refused upgrade_started
  ].freeze
  MAP_AND_RAILS = %w[
    AtItem BadQueue Courier Harvest NoApplication NodeError NoJob NotEnqueued Ordeal
    Performer at_item cargo courier harvest node_error ordeal parcel parcels performer
  ].freeze
  KAFKA = %w[
    Aloud Asker BadSource Bounds CallFailed ClientFailed Codes Custody DeadLetter Desk Doubt
    ErrorText Farewell FencedItself Gauge Haul Hurry Inquiry Intake Keyring LagEstimator Leeway
    Ledger LingerFlush MessageFilter Namesakes NoBroker NotDelivered OffsetTracker Outbox
    PartitionList PoisonVerdict Press Producing QueuePosition Rehearsal Resting RunQueue
    SecretSettings Seeker Sender Setback SharedLibrary Shelf Sieve Strand Trails TransactionOutcome
    Transactor Unanswered Unclosed Undelivered Whereabouts
    custody farewell haul hauls hurry inquiry intake keyring lag_estimator leeway namesakes
    offset_tracker outbox outlets rehearsal seeker setback sieve transactor unclosed whereabouts
    FakeChild GemMissing SelfFenced commit_every crash_loop_over fake_child kafka_back
    kafka_farewell kafka_fenced_itself kafka_held kafka_lost kafka_name_taken
    kafka_not_delivered kafka_refused kafka_revoked_in_hand kafka_seek_waits
    kafka_topic_remade kafka_transaction_waits message_convicted message_suspected
    ClientOutdated ClientStalled FetchWait TransactionCommits
    kafka_client_replaced kafka_stall_ended
    work_suspected
  ].freeze
  BENCHMARKS = %w[Contender Contest Errand Keeping errand].freeze
  COMMAND_LINE = %w[
    Asking Examination Misuse NotDone PURPOSE TAKES Vitals nothing_more may_return_at_once
  ].freeze
  WEB = %w[Attempts Badges Deed Hub Pace Reply Sight Visitor badges].freeze
  # The components control, log, systemd and metrics.
  OBSERVATION = %w[
    Discreet Exposition JournalEntry Outlet Readings Standing Unservable Wording WorkReadings disown
  ].freeze
  # What a node's object and a swarm's options are called: docs/reference/node.md, options.md.
  NODE_AND_OPTIONS = %w[
    FakeChild HouseStyle __hear acquit boot_parallel convict crash_loop_over fake_child hear_facts
    house_style in_flights in_hand keep_trying lanes restart_never_status restarts_within take_place
  ].freeze
  OLD = /\b(?:#{[*CONSTANTS, *WORDS, *EVENTS, *MAP_AND_RAILS, *KAFKA, *BENCHMARKS, *WEB,
                *OBSERVATION, *COMMAND_LINE, *NODE_AND_OPTIONS].join("|")})\b/
  private_constant :ROOT, :CONSTANTS, :WORDS, :EVENTS, :MAP_AND_RAILS, :KAFKA, :BENCHMARKS,
                   :OBSERVATION, :WEB, :COMMAND_LINE, :NODE_AND_OPTIONS, :OLD

  test "nothing has a name that was given up" do
    found = files.flat_map do |file|
      code(file).lines.grep(OLD).map { |line| "#{file}: #{line}" }
    end
    assert_empty found
    refute_empty files
  end

  private

  def code(file)
    text = File.read("#{ROOT}/#{file}", encoding: "UTF-8")
    file.end_with?(".md") ? text.scan(/^ *```.*?^ *```$|`[^`\n]+`/m).join("\n") : text
  end

  def files
    folders = "{lib,ext,exe,test,examples,benchmark,docs}"
    found = Dir.glob("#{folders}/**/*.{rb,c,h,md,yml}", base: ROOT)
    found += %w[README.md CONTRIBUTING.md]
    found - %w[test/names_test.rb]
  end
end
