# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class ReloadTest < Skep::TestCase
  Config = Skep::Swarm::Definition::Config
  PLAIN = { "name" => "s", "options" => { "nodes" => 2 }, "events" => [],
            "tasks" => [{ "facts" => { "kind" => "block" } }] }.freeze
  STILLBORN = "the first node of the new mold could not begin"
  private_constant :Config, :PLAIN, :STILLBORN

  def setup
    super
    begin_reload(RolloutParts.new(1, 0, max_restarts: 0).boot)
  end

  def teardown
    @parts.close
    super
  end

  test "tries one node of the new mold, then replaces the others" do
    loaded
    assert_equal [[:prepare, 1]], asked
    mold_ready
    assert_equal [:canary, [1]], [@reload.state, @mold.forked.map(&:id)]
    @parts.replace_one
    assert_equal [[:adopt, 1], [:retire, 0, true]], asked.drop(1)
    assert_equal [:rolling, @mold, [1, 0]],
                 [@reload.state, @parts.node_pool.mold, @mold.forked.map(&:id)]
    assert_equal [PLAIN], @adopted
    @parts.replace_one
    assert_equal [[nil], :done], [@ended, @reload.state]
  end

  test "names the nodes with the new and the old code if a later node can't be replaced" do
    @parts.close
    begin_reload(RolloutParts.new(1, 0, 2, 3).boot)
    loaded
    mold_ready
    2.times { @parts.replace_one }
    @parts.booting.first.slot.failure = "no database"
    @parts.ended(@parts.booting.first, 1)
    assert_equal ["node 2 could not be replaced, and keeps its process: no database"], @ended
    assert_equal "nodes 0, 1 run the new code, nodes 2, 3 run the old code: " \
                 "correct the cause and run `skep reload` again", @hint
  end

  test "adopts a mold whose first node ends well because the swarm is quiet" do
    @parts.close
    parts = RolloutParts.new(1, 0).boot
    parts.lifecycle.run
    parts.lifecycle.quiet
    parts.node_pool.quiet
    parts.node_pool.node_table.nodes.each { |node| parts.ended(node) }
    begin_reload(parts)
    loaded
    mold_ready
    parts.ended(parts.booting.first)
    assert_includes asked, [:adopt, 1]
    assert_equal [[nil], []], [@ended, parts.names & [:node_died]]
  end

  test "rolls back if the canary can't boot" do
    loaded
    mold_ready
    slots[1].failure = "no database"
    @parts.ended(slots[1].successor, 1)
    assert_equal [:rolled_back, @parts.old], [@reload.state, @parts.node_pool.mold]
    assert_equal [:retire, 1, false], asked.last
    assert_equal ["#{STILLBORN}: no database"], @ended
    assert_equal %i[ready ready], slots.map(&:status)
  end

  test "ends the canary that boots if its mold has ended, and the old node stays" do
    loaded
    mold_ready
    canary = @parts.forked(slots[1].successor)
    @mold.alive = false
    @mold.kill_reason = "boot_timeout"
    @reload.mold_exited(@mold, "SIGKILL", nil)
    assert_equal ["the new mold ended, SIGKILL (boot_timeout)"], @ended
    assert_equal [true, "reload"], [canary.killed?, canary.reason]
    @parts.ended(canary, signal: "KILL")
    assert_equal [[], %i[ready ready]], [@parts.booting, slots.map(&:status)]
  end

  test "a node of the old mold follows a canary that works when its mold has ended" do
    @parts.close
    begin_reload(RolloutParts.new(1, 0).boot)
    loaded
    mold_ready
    canary = @parts.ready(slots[1].successor)
    @mold.alive = false
    @reload.mold_exited(@mold, "SIGKILL", nil)
    @parts.ended(@parts.stopping.first)
    @parts.ended(canary, signal: "KILL")
    assert_equal [[slots[1].node], :booting], [@parts.old.forked.last(1), slots[1].status]
  end

  test "tries another slot if the canary's is removed" do
    loaded
    mold_ready
    @parts.node_pool.remove(slots[1], "scale")
    assert_equal [:canary, [1, 0]], [@reload.state, @mold.forked.map(&:id)]
  end

  test "a slot whose old node dies gets its new node all the same" do
    loaded
    mold_ready
    @parts.ended(slots[1].node, 3)
    @parts.ready(slots[1].node)
    assert_equal [:rolling, @mold], [@reload.state, slots[1].mold]
  end

  test "rolls back if the new node dies after the old one" do
    loaded
    mold_ready
    @parts.ended(slots[1].node, 3)
    @parts.ended(slots[1].node, 8)
    assert_equal [:rolled_back, ["#{STILLBORN}: the new process ended, exit status 8"]],
                 [@reload.state, @ended]
  end

  test "tries the new mold in a slot that waits if no node works" do
    all_wait
    assert_equal [%i[booting waiting], :canary], [slots.map(&:status), @reload.state]
    @parts.ready(slots[0].node)
    assert_equal [%i[ready booting], @mold], [slots.map(&:status), @parts.node_pool.mold]
    assert_equal [[nil], :done], [@ended, @reload.state]
  end

  test "rolls back if that node can't begin" do
    all_wait
    slots[0].failure = "no database"
    @parts.ended(slots[0].node, 1)
    assert_equal [:rolled_back, ["#{STILLBORN}: no database"]], [@reload.state, @ended]
  end

  test "adopts the code untried if no slot is to have a node" do
    loaded
    slots.dup.each { |slot| @parts.node_pool.remove(slot, "scale") }
    mold_ready
    assert_equal [[nil], @mold], [@ended, @parts.node_pool.mold]
  end

  test "rolls back with what kept the new mold from loading" do
    @reload.mold_exited(@mold, "exit status 1", "the Gemfile was deleted")
    assert_equal ["the new mold ended, exit status 1: the Gemfile was deleted"], @ended
  end

  test "rolls back if the new mold can't load the file" do
    @reload.mold_rejected("syntax", 78)
    @reload.mold_exited(@mold, "exit 1", nil)
    assert_equal ["syntax"], @ended
  end

  test "is rolled back by a stop, whatever it waits for" do
    @parts.lifecycle.stop
    @parts.node_pool.stop
    assert_equal [:rolled_back, ["the swarm is stopping"]], [@reload.state, @ended]
  end

  test "refuses a file that this swarm's processes can't run" do
    loaded("name" => "other")
    assert_equal ["the swarm's name is other now: stop the swarm and start it again"], @ended
    assert_equal [[:retire, 1, false]], asked
  end

  test "refuses a file that lacks a work which had a name" do
    begin_again(work("web"))
    loaded("tasks" => [work("www")])
    assert_equal ["a work can't be renamed, added or removed, and the file's works are www now, " \
                  "not web: stop the swarm and start it again"], @ended
  end

  test "takes named works in another order, and not works that only their order tells apart" do
    kinds = %w[a b].map { |kind| { "facts" => { "kind" => kind } } }
    begin_again(work("web").merge(kinds[0]), work("jobs").merge(kinds[1]))
    loaded("tasks" => [work("jobs").merge(kinds[1]), work("web").merge(kinds[0])])
    assert_equal [[[:prepare, 1]], []], [asked, @ended]

    begin_again(*kinds)
    loaded("tasks" => kinds.reverse)
    assert_match(/\Athe works are in another order now, by which the nodes know them/, @ended.first)
  end

  test "names the works whose options or names take effect at the next start" do
    begin_again(work("web", "stop_timeout" => 1), work("billing", named: false))
    loaded("tasks" => [work("jobs"), work("web", "stop_timeout" => 2, "memory_limit" => nil)])
    assert_equal "stop_timeout of work web, memory_limit of work web, " \
                 "the name of work billing (to jobs) changed: takes effect at the next start",
                 @parts.published.last.facts[:error]
  end

  test "a new revision is no option that waits for the next start" do
    loaded("options" => { "nodes" => 2, "revision" => "r2" })
    assert_empty(@parts.published.select { |event| event.name == :reload_ignored })
  end

  test "names the options that take effect at the next start" do
    loaded("options" => { "nodes" => 2, "stop_timeout" => 9 })
    event = @parts.published.last
    assert_equal [:reload_ignored, "stop_timeout changed: takes effect at the next start"],
                 [event.name, event.facts[:error]]
    assert_equal [[:prepare, 1]], asked
  end

  # The supervisor's.
  def config = read({ **PLAIN, "tasks" => @tasks || PLAIN["tasks"] })
  def read(plain) = Config.new(plain["name"], plain["options"], tasks: plain["tasks"], events: [])
  def code_adopted(plain) = @adopted << plain

  private

  def begin_reload(parts)
    @parts = parts
    @ended, @adopted = [], []
    @reload = Skep::Swarm::Rollout::Reload.new(self, **@parts.to_h) do |why, hint|
      @ended << why
      @hint = hint
    end
    @reload.start
    @mold = @parts.mold_pool.asked.shift.last
  end

  # The swarm has these works.
  def begin_again(*tasks)
    @parts.close
    @tasks = tasks
    begin_reload(RolloutParts.new(1, 0).boot)
  end

  def work(name, named: true, **options)
    { "name" => name, "named" => named, "facts" => {}, "options" => options.transform_keys(&:to_s) }
  end

  def all_wait
    slots.each { |slot| @parts.ended(slot.node, 3) }
    loaded
    mold_ready
  end

  def slots = @parts.slots
  def asked = @parts.mold_pool.asked
  def loaded(**new) = @reload.mold_loaded(@mold, PLAIN.merge(new))
  def mold_ready = @reload.mold_ready(@mold)
end
