# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class RollingUpdateTest < Skep::TestCase
  def setup
    super
    @parts = RolloutParts.new(2, 0, 1)
    @ended = []
  end

  def teardown
    @parts.loop.close
    super
  end

  test "replaces the least busy slot first, one at a time" do
    update.start
    order = Array.new(3) do
      assert_equal 1, asked.size
      asked.first.slot.id.tap { settle(true) }
    end
    assert_equal [1, 2, 0], order
    assert_equal [[nil], :done], [@ended, @update.state]
  end

  test "replaces only the slots it was given" do
    update(slots: [slots[2]]).start
    settle(true)
    assert_equal [[nil], []], [@ended, asked]
  end

  test "fails at the first slot that can't be replaced" do
    update.start
    settle(true)
    asked.first.slot.failure = "no database"
    settle(false)
    assert_empty asked
    assert_equal :failed, @update.state
    assert_equal ["node 2 could not be replaced, and keeps its process: no database"], @ended
    assert_equal "correct the cause and run `skep restart` again", @hint
  end

  test "waits while another replacement of a slot is in progress" do
    @parts.node_pool.replacing(slots[1])
    update.start
    assert_empty asked
    @parts.node_pool.replaced(slots[1])
    3.times { settle(true) }
    assert_equal [nil], @ended
  end

  test "skips slots that are removed during the update" do
    update.start
    slots[2].retired = true
    settle(true)
    assert_equal [0], asked.map { |request| request.slot.id }
    slots[0].retired = true
    settle(false)
    assert_equal [nil], @ended
  end

  test "considers a slot replaced if its node has exited during the update" do
    update.start
    slots[2].node = nil
    settle(true)
    slots[0].node = RolloutParts.node(@parts.old, slots[0])
    settle(false)
    assert_equal [nil], @ended
  end

  test "starts what waits after an exit" do
    slots[0].waiting = slots[2].waiting = true
    slots[0].node = slots[2].node = nil
    update.start
    settle(true)
    assert_equal [[0, 2], [], [nil]], [@parts.node_pool.started, asked, @ended]
  end

  test "waits until the one slot that it was given has a node again" do
    wait_alone
    assert_equal [[2], [], []], [@parts.node_pool.started, asked, @ended]
    events.publish(:node_ready, RolloutParts.node(@parts.old, slots[1]))
    assert_empty @ended
    events.publish(:node_ready, slots[2].node)
    assert_equal [[nil], :done], [@ended, @update.state]
  end

  test "fails if the one slot that it was given can't start" do
    wait_alone
    slots[2].last_exit, slots[2].last_reason = "SIGKILL", "boot_timeout"
    events.announce(:exit_recorded, slots[2].node)
    assert_equal [["node 2 could not start: the new process ended, SIGKILL (boot_timeout)"],
                  :failed], [@ended, @update.state]
    wait_alone
    events.publish(:fork_failed, slots[2], error: "no descriptor")
    wait_alone
    events.publish(:swarm_stopping)
    wait_alone
    events.announce(:nodes_killed)
    stopping = "node 2 could not start: the swarm is stopping"
    assert_equal ["node 2 could not start: no descriptor", stopping, stopping], @ended.drop(1)
  end

  test "needs no node for a slot that is removed meanwhile" do
    wait_alone
    events.publish(:swarm_scaled)
    assert_empty @ended
    slots[2].retired = true
    events.publish(:swarm_scaled)
    assert_equal [nil], @ended
  end

  test "fails if the swarm stops" do
    update.start
    @parts.node_pool.stopping = true
    slots[1].node = nil
    settle(false)
    assert_equal :failed, @update.state
  end

  private

  def events = @parts.events

  def wait_alone
    slots[2].waiting = true
    slots[2].node = nil
    update(slots: [slots[2]]).start
  end

  def slots = @parts.slots
  def asked = @parts.node_pool.asked
  def settle(succeeded) = @parts.node_pool.settle(succeeded)

  def update(**how)
    parts = { **@parts.to_h, **how }
    @update = Skep::Swarm::Rollout::RollingUpdate.new("restart", **parts) do |why, hint|
      @ended << why
      @hint = hint
    end
  end
end

class ReloadTest < Skep::TestCase
  Config = Skep::Swarm::Definition::Config
  PLAIN = { "name" => "s", "options" => { "nodes" => 2 }, "events" => [],
            "tasks" => [{ "facts" => { "kind" => "block" } }] }.freeze
  STILLBORN = "the first node of the new mold could not begin"
  private_constant :Config, :PLAIN, :STILLBORN

  def setup
    super
    @parts = RolloutParts.new(1, 0)
    @ended = []
    @published = []
    events.subscribe(:code_adopted, :reload_ignored) do |event|
      @published << [event.name, event.facts]
    end
    @reload = Skep::Swarm::Rollout::Reload.new(read(PLAIN), read: method(:read),
                                               **@parts.to_h) do |why, hint|
      @ended << why
      @hint = hint
    end
    @reload.start
    @mold = @parts.mold_pool.asked.shift.last
  end

  def teardown
    @parts.loop.close
    super
  end

  test "tries one node of the new mold, then replaces the others" do
    loaded
    assert_equal [[:prepare, 1]], asked
    mold_ready
    assert_equal [:canary, @mold, 1], [@reload.state, request.mold, request.slot.id]
    settle(true)
    assert_equal [[:adopt, 1], [:retire, 0, true]], asked.drop(1)
    assert_equal [:rolling, @mold, 0], [@reload.state, @parts.node_pool.mold, request.slot.id]
    assert_equal [[:code_adopted, { plain: PLAIN }]], @published
    settle(true)
    assert_equal [[nil], :done], [@ended, @reload.state]
  end

  test "names the nodes with the new and the old code if a later node can't be replaced" do
    add_slots(2, 3)
    loaded
    mold_ready
    2.times { settle(true) }
    request.slot.failure = "no database"
    settle(false)
    assert_equal ["node 2 could not be replaced, and keeps its process: no database"], @ended
    assert_equal "nodes 0, 1 run the new code, nodes 2, 3 run the old code: " \
                 "correct the cause and run `skep reload` again", @hint
  end

  test "rolls back if the canary can't boot" do
    loaded
    mold_ready
    request.slot.failure = "no database"
    settle(false)
    assert_equal [:rolled_back, @parts.old], [@reload.state, @parts.node_pool.mold]
    assert_equal [:retire, 1, false], asked.last
    assert_equal ["the first node of the new mold could not begin: no database"], @ended
  end

  test "rolls back and replaces the nodes of a new mold that has ended" do
    loaded
    mold_ready
    slot = request.slot
    slot.node = RolloutParts.node(@mold, slot)
    @mold.alive = false
    events.announce(:mold_exited, @mold, exit_status: "SIGKILL")
    assert_equal ["the new mold ended, SIGKILL"], @ended
    assert_equal [slot], @parts.node_pool.asked.drop(1).map(&:slot)
    assert_equal [[:prepare, 1]], asked
  end

  test "tries another slot if the canary's was removed, or lost its node" do
    loaded
    mold_ready
    request.slot.retired = true
    @parts.slots[1].node = nil
    settle(false)
    assert_equal [:canary, 0], [@reload.state, request.slot.id]
    request.slot.node = nil
    settle(false)
    assert_equal [:done, [nil]], [@reload.state, @ended]
  end

  test "rolls back if the new node dies after the old one" do
    loaded
    mold_ready
    slot = request.slot
    slot.node, slot.last_mold, slot.last_exit = nil, @mold, "exit 8"
    settle(false)
    assert_equal :rolled_back, @reload.state
    assert_equal ["#{STILLBORN}: the new process ended, exit 8"], @ended
  end

  test "tries the new mold in a slot that waits if no node works" do
    all_wait
    assert_equal [[0], :canary], [@parts.node_pool.started, @reload.state]
    events.publish(:node_ready, @parts.slots[0].node)
    assert_equal [[0, 1], @mold], [@parts.node_pool.started, @parts.node_pool.mold]
    assert_equal [[nil], :done], [@ended, @reload.state]
  end

  test "rolls back if that node can't begin" do
    all_wait
    @parts.slots[0].failure = "no database"
    events.announce(:exit_recorded, @parts.slots[0].node)
    assert_equal [:rolled_back, [0]], [@reload.state, @parts.node_pool.started]
    assert_equal ["#{STILLBORN}: no database"], @ended
    events.publish(:node_ready, @parts.slots[0].node)
    assert_equal 1, @ended.size
  end

  test "tries another slot that waits if that one is removed" do
    all_wait
    first, second = @parts.slots
    first.retired = true
    @parts.slots.shift
    events.publish(:swarm_scaled)
    assert_equal [[0, 1], :canary], [@parts.node_pool.started, @reload.state]
    events.publish(:node_ready, second.node)
    assert_equal [nil], @ended
  end

  test "never adopts a mold that has died, even if no slot is left to try" do
    loaded
    mold_ready
    @parts.slots.each { |slot| slot.node = nil }
    @mold.alive = false
    settle(false)
    assert_equal :canary, @reload.state
    events.announce(:mold_exited, @mold, exit_status: "SIGSEGV")
    assert_equal [:rolled_back, ["the new mold ended, SIGSEGV"]], [@reload.state, @ended]
  end

  test "tries the code if the last slot's node ends, and what follows isn't decided yet" do
    loaded
    mold_ready
    first, second = @parts.slots
    second.retired = true
    second.node = nil
    first.node, first.undecided = nil, true
    settle(false)
    assert_equal :canary, @reload.state
    first.undecided, first.waiting = false, true
    @parts.loop.turn until @parts.node_pool.started.any?
    assert_equal [@mold, [[:prepare, 1]]], [first.node.mold, asked]
  end

  test "rolls back with what kept the new mold from loading" do
    events.announce(:mold_exited, @mold, exit_status: "exit status 1",
                                         obstacle: "the Gemfile was deleted")
    assert_equal ["the new mold ended, exit status 1: the Gemfile was deleted"], @ended
  end

  test "rolls back if the new mold can't load the file" do
    events.announce(:mold_load_rejected, @mold, error: "syntax", exit_code: 78)
    events.announce(:mold_exited, @mold, exit_status: "exit 1")
    assert_equal ["syntax"], @ended
  end

  test "ignores events of other molds" do
    events.announce(:mold_exited, @parts.old, exit_status: "SIGKILL")
    assert_equal :starting, @reload.state
  end

  test "refuses a file that this swarm's processes can't run" do
    loaded("name" => "other")
    assert_equal ["the swarm's name is other now: stop the swarm and start it again"], @ended
    assert_equal [[:retire, 1, false]], asked
  end

  test "names the options that take effect at the next start" do
    loaded("options" => { "nodes" => 2, "stop_timeout" => 9 })
    assert_equal [[:reload_ignored,
                   { error: "stop_timeout changed: takes effect at the next start" }]], @published
    assert_equal [[:prepare, 1]], asked
  end

  private

  def add_slots(*ids)
    @parts.slots.concat(ids.map { |id| RolloutParts::Slot.new(id, nil, false, id) })
    @parts.slots.last(ids.size).each { |slot| slot.node = RolloutParts.node(@parts.old, slot) }
  end

  def all_wait
    @parts.slots.each do |slot|
      slot.node = nil
      slot.waiting = true
    end
    loaded
    mold_ready
  end

  def read(plain) = Config.new(plain["name"], plain["options"], tasks: plain["tasks"], events: [])
  def events = @parts.events
  def asked = @parts.mold_pool.asked
  def request = @parts.node_pool.asked.first
  def settle(succeeded) = @parts.node_pool.settle(succeeded)
  def loaded(**new) = events.announce(:mold_loaded, @mold, plain: PLAIN.merge(new))
  def mold_ready = events.publish(:mold_ready, @mold)
end
