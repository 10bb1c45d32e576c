# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RestartPolicyTest < Skep::TestCase
  class Middle
    def self.rand = 0.5
  end

  test "restarts at once up to max_restarts times" do
    assert_equal [0.0] * 5, (1..5).map { |n| decide({}, deaths: n) }
  end

  test "waits longer after each further death, at most 30 s" do
    waits = (6..20).map { |n| decide({}, deaths: n) }

    assert_equal [0.1, 0.2, 0.4, 0.8], waits.first(4)
    assert_equal 30.0, waits.last
  end

  test "varies a wait by at most 20%, and never beyond 30 s" do
    policy = Skep::Swarm::Nodes::RestartPolicy.new(config({}))
    waits = Array.new(200) { policy.delay([0.0] * 6, 0.0) }

    assert_operator waits.min, :>=, 0.08
    assert_operator waits.max, :<=, 0.12
    assert_operator waits.uniq.size, :>, 100
    assert_operator Array.new(50) { policy.delay([0.0] * 30, 0.0) }.max, :<=, 30.0
  end

  test "ignores deaths older than restart_window" do
    policy = Skep::Swarm::Nodes::RestartPolicy.new(config({}))

    assert_in_delta 0.0, policy.delay([0.0] * 50, 60.1)
  end

  test "restarts after clean and failed exits as the restart option requires" do
    assert_equal :done, decide({ restart: :never })
    assert_equal :done, decide({ restart: :on_failure }, clean: true)
    assert_equal 0.0, decide({ restart: :on_failure }, clean: false)
    assert_equal 0.0, decide({ restart: :always }, clean: true)
  end

  test "doesn't restart after an exit status in never_restart_on" do
    assert_equal :done, decide({ never_restart_on: 77 }, exitstatus: 77)
    assert_equal 0.0, decide({ never_restart_on: [77, 78] }, exitstatus: 1)
  end

  test "gives up on a crash loop with on_crash_loop: :stop" do
    assert_equal :give_up, decide({ on_crash_loop: :stop }, deaths: 6)
    assert_equal 0.0, decide({ on_crash_loop: :stop }, deaths: 5)
  end

  test "restarts a helper or a spare whatever the policy, after a moment at least" do
    assert_equal 0.1, decide({ restart: :never }, how: :beside_the_work)
    assert_operator decide({ on_crash_loop: :stop }, deaths: 10, how: :beside_the_work), :>, 0.1
  end

  test "restarts a node that refused to begin after a second, unless nothing restarts" do
    assert_equal 1.0, decide({ restart: :on_failure }, deaths: 2, how: :refused)
    assert_equal :done, decide({ restart: :never }, how: :refused)
  end

  test "restarts where a node became a mold, however an earlier one had ended" do
    assert_equal 0.0, decide({ restart: :never }, clean: true, how: :became_mold)
  end

  test "restarts where a mold ended before it forked a node, unless that is a crash loop" do
    assert_equal 0.0, decide({ restart: :never }, how: :unforked)
    assert_equal :give_up, decide({ on_crash_loop: :stop }, deaths: 6, how: :unforked)
  end

  test "restarts where a node was stopped to be replaced, whatever its exit status" do
    assert_equal 0.0, decide({ restart: :never }, clean: true, how: :retired)
    assert_equal 0.0, decide({ never_restart_on: [3] }, exitstatus: 3, how: :retired)
  end

  test "waits for resume where a node ended well as it was quiet, if it restarts always" do
    assert_equal Float::INFINITY, decide({ restart: :always }, clean: true, how: :quiet)
    assert_equal :done, decide({ restart: :on_failure }, clean: true, how: :quiet)
  end

  test "waits for resume where the work was told of the quiet, and restarts if that is past" do
    %i[always on_failure never].each do |restart|
      assert_equal Float::INFINITY, decide({ restart: }, clean: true, how: :left_for_quiet)
      assert_equal 0.0, decide({ restart: }, clean: true, how: :left_for_past_quiet)
    end
  end

  test "a crash loop has more exits within its window than max_restarts" do
    policy = Skep::Swarm::Nodes::RestartPolicy.new(config({ max_restarts: 2 }))
    assert_equal [false, true, false],
                 [policy.crash_loop?([1.0, 2.0], 3.0), policy.crash_loop?([1.0, 2.0, 3.0], 3.0),
                  policy.crash_loop?([1.0, 2.0, 3.0], 62.5)]
  end

  private

  def config(options) = Skep::Swarm::Definition::Config.new("a", options, tasks: [{}])

  def decide(options, deaths: 1, clean: false, exitstatus: nil, how: nil)
    exited = Skep::Swarm::Nodes::RestartPolicy::Exited.new(deaths: [100.0] * deaths, clean:,
                                                           exitstatus:, how:)
    Skep::Swarm::Nodes::RestartPolicy.new(config(options), random: Middle).decide(exited, 100.0)
  end
end
