# frozen_string_literal: true

require "test_helper"
require "simulation/campaign"

# Bugs that the simulation has found, each with the smallest schedule that shows it.
class SimulationRegressionsTest < Skep::TestCase
  OPTIONS = { "nodes" => 3, "spares" => 0, "boot_timeout" => 3.0, "boot_concurrency" => 3,
              "liveness_timeout" => 5.0,
              "stop_timeout" => 4.0, "kill_timeout" => 1.0, "restart" => "always",
              "max_restarts" => 4, "restart_window" => 10.0, "on_crash_loop" => "backoff" }.freeze
  private_constant :OPTIONS

  test "nodes keep their stop_timeout when a mold becomes ready during a stop" do
    world = simulate([0.6, :slow_stop, 0, 3.0], [2.8, :mold_die, "SEGV"], [2.88, :end, :term])
    assert_equal 0, world.code
    assert_equal 3, count(world, "node_exited")
  end

  test "boots a waiting slot after the fork of another slot's successor fails" do
    world = simulate([0.43, :signal, "USR2"], [0.526, :mold_die, "KILL"],
                     [0.773, :refuse_forks, 0.68],
                     options: { "nodes" => 4, "boot_concurrency" => 1, "helper" => true },
                     seed: 1_627)
    assert_equal 1, count(world, "restart_failed")
  end

  test "a reload never adopts code that it hasn't tried, if the last node dies before the canary" do
    world = simulate([1.9, :slow, 1.0, :boot, 2.5], [2.0, :die, 101, "SEGV"], [2.2, :signal, "HUP"],
                     [3.0, :die, 0, "SEGV"], [3.05, :boot_fault, 3.0, :fail, 20],
                     options: { "nodes" => 1, "spares" => 1, "boot_concurrency" => 1 }, seed: 1)
    failed = world.log.index { |_, name, _| name == "reload_failed" }
    after = world.log.drop(failed).select { |_, name, _| name == "node_forked" }
    refute_empty after
    assert_equal [0], after.map { |_, _, facts| facts[:mold] }.uniq
  end

  test "publishes no node_channel_closed for a dead node whose mold is stuck" do
    world = simulate([0.686, :mold_stop_process], [3.4, :die, 1, "SEGV"])
    assert_equal 0, count(world, "node_channel_closed")
    assert_equal [nil], facts(world, "node_died").map { |death| death[:reason] }
  end

  test "a slot gets another node if its successor dies while the node becomes a mold" do
    world = simulate([1.0, :slow_stop, 2, 3.0], [2.0, :warm, 2], [3.0, :die, 2, "SEGV"],
                     options: { "refork_after" => 100 })
    assert_equal 1, count(world, "replacement_failed")
    assert_equal [1, 0], %w[refork_finished supervisor_error].map { |name| count(world, name) }
  end

  test "a pause of all processes doesn't shorten a node's boot_timeout" do
    world = simulate([0.0, :slow, 10.0, :boot, 2.0], [1.0, :pause, 4.0, true])
    assert_equal [3, 0], %w[node_ready node_died].map { |name| count(world, name) }
  end

  test "a pause of all processes doesn't shorten a node's stop_timeout" do
    world = simulate([2.066, :command, :restart, 0], [2.121, :pause, 9.265, true], seed: 121_195,
                     options: { "nodes" => 1 })
    assert_equal [0, 1], %w[node_died restart_finished].map { |name| count(world, name) }
  end

  test "a swarm whose file never finishes loading fails with a sentence and code 1" do
    world = simulate([0.0, :mold_fault, 10.0, :load, :never], options: { "nodes" => 1 })
    assert_equal 1, world.code
    assert_match(/no node was ready within 120.0 s, .* not loaded/, world.supervisor.failures.first)
  end

  test "publishes no node_ready for a node that its mold never reported" do
    world = simulate([0.1, :slow, 3.0, :forked, 4.0], [2.5, :mold_die, "KILL"])
    assert_empty(facts(world, "node_ready").select { |ready| ready[:pid].nil? })
  end

  test "a mold that restarts while a reload adopts another breaks no invariant" do
    simulate([11.1, :mold_hang], [13.43, :signal, "HUP"], [24.0, :signal, "HUP"],
             options: { "nodes" => 1 }, seed: 13_699, seconds: 25.0)
  end

  test "a retired mold exits after the fork of its last node fails" do
    simulate([0.078, :refuse_forks, 6.29], [2.218, :signal, "HUP"],
             options: { "nodes" => 1, "helper" => true }, seed: 27, seconds: 8.0)
  end

  test "a successor takes over if no descriptor is left to refork its node" do
    world = simulate([0.64, :warm, 1], [0.75, :no_descriptors, 2.9],
                     options: { "refork_after" => 100 }, seed: 49_856)
    assert_equal 1, count(world, "refork_failed")
    assert_equal 0, count(world, "supervisor_error")
  end

  test "publishes the exit status of a node that dies with its mold, in any order" do
    (1..7).each do |seed|
      world = simulate([0.4, :pause, 8.1, false], [1.4, :mold_exit, 1], [1.5, :exit, 1, 7],
                       options: { "boot_timeout" => 30.0 }, seed:, seconds: 12.0)
      assert_equal [7], facts(world, "node_died").map { |death| death["exit_status"] }
    end
  end

  test "a dead node of a stuck mold is considered neither hung nor unkillable" do
    options = { "liveness_timeout" => 2.0 }
    world = simulate([0.7, :mold_hang], [1.0, :die, 1, "KILL"], options:)
    assert_equal 0, count(world, "node_hung")
    world = simulate([1.06, :close_channel, 2], [1.6, :mold_hang], options:)
    assert_equal 0, count(world, "node_unkillable")
  end

  test "forks one process for a slot whose fork fails during a restart" do
    world = simulate([0.559, :refuse_forks, 0.5], [0.733, :signal, "USR2"],
                     options: { "nodes" => 1, "boot_concurrency" => 1 }, seed: 1_468)
    assert_equal 1, count(world, "node_forked")
  end

  test "ignores ready of a spare that has no slot" do
    world = simulate([2.25, :post, 100, :ready], options: { "spares" => 2 })
    assert_equal 0, count(world, "supervisor_error")
    assert_equal 3, count(world, "node_ready")
  end

  test "publishes no kill reason for a node that died before the stop" do
    world = simulate([0.813, :mold_stop_process], [1.316, :die, 0, "ABRT"], [1.709, :end, :term],
                     options: { "nodes" => 1, "stop_timeout" => 0.5 })
    assert_equal [nil], facts(world, "node_died").map { |death| death[:reason] }
  end

  test "launches one process if an exit is recorded while a launch is queued" do
    world = simulate([0.792, :mold_stop_process], [1.453, :signal, "HUP"], [1.690, :die, 0, "KILL"],
                     options: { "nodes" => 2, "boot_concurrency" => 1, "helper" => nil },
                     seed: 836_372, seconds: 9.0)
    assert_equal 0, count(world, "supervisor_error")
  end

  test "kills a released mold that doesn't exit, also without any node" do
    world = simulate([6.011, :exit, 0, 3], [6.034, :mold_ignore_release], [7.009, :signal, "HUP"],
                     [9.5, :refuse_forks, 8.0], [9.554, :die, 1, "KILL"],
                     options: { "nodes" => 2, "never_restart_on" => 3, "refork_after" => nil },
                     seed: 958_229, seconds: 20.0)
    names = world.log.map { |_, name,| name }
    assert_operator names.index("mold_died"), :<, names.index("swarm_stopping")
  end

  test "a restart waits for the end of a replacement that rolls a refork back" do
    simulate([0.711, :warm, 1], [3.213, :die, 0, "ABRT"], [3.22, :command, :restart, 2],
             options: { "nodes" => 4, "refork_after" => 100 }, seed: 70_507)
  end

  test "a reload tries its code in no slot that wants no node any more" do
    simulate([0.74, :grow, 1, 20], [1.015, :unhealthy, 1, 1], [1.085, :warm, 1],
             [1.434, :hang, 0], [1.453, :signal, "HUP"], [2.24, :command, :scale, 3],
             [2.269, :ignore_stop, 2], seconds: 3.979,
             options: { "spares" => 2, "boot_timeout" => 1.0, "liveness_timeout" => 1.0,
                        "stop_timeout" => 2.0, "kill_timeout" => 0.3, "restart" => "never",
                        "max_restarts" => 1, "memory_limit" => "64M" }, seed: 24_054)
  end

  test "a restart waits for another's slot, also in one that is being replaced for its memory" do
    simulate([0.737, :grow, 1, 200], [1.008, :signal, "USR2"],
             options: { "nodes" => 2, "boot_timeout" => 1.0, "liveness_timeout" => 2.0,
                        "kill_timeout" => 0.3, "max_restarts" => 2, "restart_window" => 3.0,
                        "memory_limit" => "64M" }, seed: 33_668)
  end

  test "a helper that ends with the mold at the limit of a stop is reaped" do
    simulate([0.975, :errors, 0.22, "timer", 1], [0.98, :die, 0, "ABRT"], [1.307, :end, :term],
             [1.793, :pause, 9.829, true],
             options: { "nodes" => 2, "helper" => true, "liveness_timeout" => 1.0,
                        "restart_window" => 3.0 }, seed: 28_017)
  end

  test "a reload isn't adopted because an old node has ended by quiet" do
    simulate([0.79, :signal, "HUP"], [4.699, :signal, "HUP"], [4.925, :die, 0, "TERM"],
             [5.139, :signal, "TSTP"],
             options: { "nodes" => 4, "restart_window" => 3.0 }, seed: 448_652, seconds: 6.037)
  end

  test "a node that is forked when its boot_timeout is over has as long to boot" do
    simulate([0.566, :mold_hang, 1.0], [1.332, :lost, 1.58, :node],
             [1.529, :errors, 0.47, "descriptor", 1],
             options: { "nodes" => 4, "boot_timeout" => 1.0, "liveness_timeout" => 1.0,
                        "restart_window" => 3.0 }, seed: 419_165, seconds: 2.208)
  end

  test "a spare steps in for a node whose slot was restarted alone" do
    world = simulate([1.0, :command, :restart, 1], [3.0, :die, 1, "SEGV"],
                     options: { "spares" => 1 })
    assert_equal [1], facts(world, "spare_stepped_in").map { |facts| facts[:node] }
    assert_equal 1, count(world, "node_replaced")
  end

  test "a crash loop ends once, also if the node is being replaced then" do
    world = simulate([1.0, :die, 0, "SEGV"], [1.5, :die, 0, "SEGV"], [5.0, :slow_stop, 0, 3.8],
                     [5.5, :command, :restart, 0],
                     options: { "nodes" => 1, "max_restarts" => 1, "restart_window" => 4.0,
                                "stop_timeout" => 6.0 }, seconds: 15.0)
    assert_equal [1, 1], %w[crash_loop crash_loop_ended].map { |name| count(world, name) }
  end

  test "a rollout is not failed by a successor that was launched before it began" do
    { "HUP" => "reload", "USR2" => "restart" }.each do |signal, rollout|
      world = simulate([1.0, :boot_fault, 1.5, :fail, 1], [1.1, :slow, 0.6, :boot, 1.0],
                       [1.2, :grow, 0, 70], [1.5, :signal, signal],
                       options: { "nodes" => 1, "memory_limit" => "64M" })
      assert_equal ["memory_limit"], facts(world, "replacement_failed").map { |one| one[:reason] }
      assert_equal 1, count(world, "#{rollout}_finished")
    end
  end

  test "a node that was stopped for its memory is replaced, whatever the restart policy is" do
    world = simulate([1.5, :slow, 3.0, :boot, 2.0], [2.0, :die, 101, "SEGV"], [2.0, :grow, 0, 200],
                     options: { "nodes" => 2, "spares" => 1, "boot_concurrency" => 1,
                                "restart" => "never", "memory_limit" => "64M" })
    assert_equal %w[memory_limit], facts(world, "node_exited").filter_map { |exit| exit[:reason] }
    assert_equal 0, count(world, "node_finished")
  end

  test "a helper that has to be killed during a stop doesn't change the exit code" do
    world = simulate([1.5, :ignore_stop, 200], [3.0, :end, :term],
                     options: { "nodes" => 1, "helper" => true })
    assert_equal 0, world.code
    assert_equal %w[stop_timeout], facts(world, "node_died").map { |death| death[:reason] }
  end

  test "a restart waits for the end of a replacement whose old node has died" do
    world = simulate([1.0, :hang, 0], [1.3, :grow, 0, 70], [1.5, :slow, 4.0, :boot, 2.7],
                     [4.1, :signal, "USR2"], seconds: 12.0,
                     options: { "nodes" => 1, "memory_limit" => "64M", "liveness_timeout" => 2.0 })
    assert_equal %w[memory_limit restart], facts(world, "node_replacing").map { |one| one[:reason] }
    assert_equal 2, count(world, "node_replaced")
  end

  test "a process for which there was no descriptor is ended, although its channel is closed" do
    simulate([0.985, :late, 0.21, :mold], [1.411, :close_channel, 2], [2.374, :no_descriptors, 1.5],
             options: { "boot_concurrency" => 1 }, seed: 994_625, seconds: 5.0)
  end

  private

  def simulate(*events, options: {}, seed: 1, seconds: 5.0)
    schedule = Simulation::Schedule.new(seed, { **OPTIONS, **options }, events, seconds)
    world = Timeout.timeout(60) { Simulation::World.new(schedule).run }
    assert_empty world.violations
    world
  end

  def facts(world, event) = world.log.filter_map { |_, name, facts| facts if name == event }
  def count(world, event) = facts(world, event).size
end
