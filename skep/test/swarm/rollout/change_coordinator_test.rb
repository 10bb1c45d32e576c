# frozen_string_literal: true

require "test_helper"
require_relative "rollout_parts"

class ChangeCoordinatorTest < Skep::TestCase
  Rollout = Skep::Swarm::Rollout
  Supervisor = Struct.new(:node_pool, :loop, :events, :config, :running, :stopping, :arguments,
                          keyword_init: true) do
    def nodes_requested? = running
    def stopping? = stopping
    def read(plain) = plain
  end
  # The slots of a pool that can grow and shrink.
  class NodePool
    Slot = Struct.new(:id, :task, :load)
    attr_reader :slots, :changes, :room

    def initialize(tasks, room: 20)
      @slots = tasks.each_with_index.map { |task, id| Slot.new(id, task, id % 2) }
      @room = room
      @changes = []
    end

    def load(slot) = slot.load
    def add(task, count) = changes << [:add, task, count]

    def remove(slot, reason)
      slots.delete(slot)
      changes << [:remove, slot.id, reason]
    end
  end
  NEITHER = { change: nil, failed_change: nil, reload_seconds_ago: nil }.freeze
  private_constant :Rollout, :Supervisor, :NodePool, :NEITHER

  def setup
    super
    @parts = RolloutParts.new(0, 0).boot
    @published = []
    @parts.events.subscribe do |event|
      next unless /\A(?:restart|reload|refork|swarm)_/.match?(event.name)

      @published << [event.name, event.facts[:error]].compact
      @hint = event.facts[:hint]
    end
    @supervisor = Supervisor.new(**@parts.to_h.except(:mold_pool), running: true)
    @changes = Rollout::ChangeCoordinator.new(@supervisor, @parts.mold_pool)
    @ended = []
  end

  def teardown
    @parts.close
    super
  end

  test "a restart replaces each slot, and publishes its start and its end" do
    restart
    assert_equal [[:restart_started]], @published
    2.times { @parts.replace_one }
    assert_equal [[nil], [:restart_finished]], [@ended, @published.last]
  end

  test "its facts have the change that is under way, and what the last one failed with" do
    assert_equal NEITHER, @changes.to_plain
    restart(1)
    change = @changes.to_plain[:change]
    assert_equal ["restart", :rolling, nil], change.values_at(:name, :state, :next)
    assert_operator change[:seconds], :>=, 0
    @parts.ended(@parts.booting.first, 1)
    failed = @changes.to_plain.fetch(:failed_change)
    assert_nil @changes.to_plain[:change]
    assert_equal ["restart", @hint], failed.values_at(:name, :hint)
    assert_match(/node 1 could not be replaced/, failed[:error])
    restart(1)
    assert @changes.to_plain[:failed_change]
    @parts.replace_one
    assert_equal NEITHER, @changes.to_plain
  end

  test "the events of a change name the revision that runs" do
    revisions = []
    @parts.events.subscribe do |event|
      revisions << event.facts[:revision] if /\Arestart_/.match?(event.name)
    end
    restart
    2.times { @parts.replace_one }
    assert_equal %w[r0 r0], revisions
  end

  test "a restart of one node replaces that node" do
    restart(1)
    assert_equal [1], @parts.booting.map(&:id)
    @parts.replace_one
    assert_equal [nil], @ended
  end

  test "a restart that fails returns and publishes why, and another one may follow" do
    restart(1)
    @parts.ended(@parts.booting.first, 1)
    why = "node 1 could not be replaced, and keeps its process: " \
          "the new process ended, exit status 1"
    hint = "correct the cause and run `skep restart` again"
    assert_equal [["#{why}; #{hint}"], [:restart_failed, why]], [@ended, @published.last]
    assert_equal hint, @hint
    restart(1)
    assert_equal 1, @parts.booting.size
  end

  test "a change that a stop of the swarm interrupts is no error" do
    levels = []
    @parts.events.subscribe do |event|
      levels << event.level if %i[restart_failed refork_failed].include?(event.name)
    end
    restart
    @parts.ended(@parts.booting.first, 1)
    restart
    @supervisor.stopping = true
    @parts.lifecycle.stop
    @parts.node_pool.stop
    assert_equal "the swarm is stopping", @ended.last
    assert_equal [:restart_failed, "the swarm is stopping"], @published.last
    assert_equal %i[error info], levels
  end

  test "a refork whose mold ends at a stop of the swarm is no error" do
    node = @parts.slots[0].node
    reforked(node)
    @supervisor.stopping = true
    failed = nil
    @parts.events.subscribe { |event| failed = event if event.name == :refork_failed }
    @mold.rollout.mold_exited(@mold, "status unknown", nil)
    assert_equal [:info, "the swarm is stopping"], [failed.level, failed.facts[:error]]
  ensure
    close_channels
  end

  test "a change is refused while another one is under way" do
    2.times { restart }
    why = "a restart is under way: wait for its end"
    assert_equal [[why], [:restart_refused, why]], [@ended, @published.last]
  end

  # The reload under way may have loaded the file before it was changed again.
  test "a reload that is asked for during another begins at its end, once for all" do
    @supervisor.config = Struct.new(:name).new("a")
    3.times { |number| @changes.reload { |why| @ended << [number, why] } }
    assert_equal [[], [[:reload_started]]], [@ended, @published]
    assert_in_delta 0, @changes.to_plain[:reload_seconds_ago], 10
    fail_reload("first")
    @parts.loop.turn until @published.size == 3
    assert_equal [[[0, "first"]], [:reload_started]], [@ended, @published.last]
    fail_reload("second")
    assert_equal [[0, "first"], [1, "second"], [2, "second"]], @ended
    assert_equal [:reload_failed, "second"], @published.last
  end

  test "a restart is refused while a reload is under way" do
    @supervisor.config = Struct.new(:name).new("a")
    @changes.reload
    restart
    assert_equal ["a reload is under way: wait for its end"], @ended
  end

  test "a restart waits for the end of a refork, and only one change does" do
    reforked(@parts.slots[0].node)
    restart(1)
    assert_empty @ended
    @changes.reload { |why| @ended << why }
    assert_equal ["a restart is under way: wait for its end"], @ended

    @mold.rollout.mold_exited(@mold, "SIGKILL", nil)
    @parts.loop.turn until @published.last == [:restart_started]
    assert_equal [:refork_failed, "the new mold ended, SIGKILL"], @published[-2]
  ensure
    close_channels
  end

  test "a restart that waits for a refork is refused at a stop" do
    reforked(@parts.slots[0].node)
    restart
    @supervisor.stopping = true
    @mold.rollout.mold_exited(@mold, "SIGKILL", nil)
    assert_equal ["the swarm is stopping"], @ended
  ensure
    close_channels
  end

  test "a restart of a work replaces its nodes alone" do
    @parts.slots[1].define_singleton_method(:work_name) { "web" }
    @changes.restart(work: "web") { |why| @ended << why }
    assert_equal [1], @parts.booting.map(&:id)
    @parts.replace_one
    assert_equal [[nil], []], [@ended, @parts.booting]
  end

  test "a restart of a work that isn't there, or of a work and a node, is refused" do
    @parts.slots[1].define_singleton_method(:work_name) { "web" }
    @parts.slots[0].define_singleton_method(:work_name) { "jobs" }
    @changes.restart(work: "wbe") { |why| @ended << why }
    @changes.restart(1, work: "web") { |why| @ended << why }
    assert_equal ['there is no work "wbe", but jobs, web', "give a node or a work, not both"],
                 @ended
  end

  test "a restart of a node that isn't there is refused" do
    restart(7)
    restart("1")
    assert_equal ["there is no node 7, but 0, 1", 'there is no node "1", but 0, 1'], @ended
  end

  test "a swarm that boots or stops takes no change" do
    @supervisor.running = false
    restart
    @supervisor.running = @supervisor.stopping = true
    restart
    assert_equal ["the swarm is still booting: try again", *["the swarm is stopping"] * 2],
                 [*@ended, @changes.scale(3)]
  end

  test "scaling up adds slots to each work without a number of its own" do
    assert_nil scale([0, 1, 2], [nil, 1, nil], 3)
    assert_equal [[:add, 0, 2], [:add, 2, 2]], @pool.changes
    assert_equal [:swarm_scaled], @published.last
  end

  test "a scaling reports the number of nodes of each work that it changes" do
    scale([0, 0, 1, 2, 2], [nil, 1, nil], 2)
    scaling = Rollout::ChangeCoordinator::Scaling
    assert_equal({ nodes: 2, works: 2 }, scaling.new(@pool, @supervisor.config).to_h)
    scale([0, 1], [1, 1], 3)
    assert_nil scaling.new(@pool, @supervisor.config).to_h
  end

  test "scaling down removes the least busy slots, the highest id first" do
    assert_nil scale([0] * 5, [nil], 2)
    assert_equal [4, 2, 0].map { |id| [:remove, id, "scale"] }, @pool.changes
  end

  test "an impossible number of nodes is refused with a sentence, and no event" do
    whole = "give a whole number of nodes, 1 or more"
    assert_equal [whole, whole], [scale([0], [nil], 0), scale([0], [nil], "3")]
    assert_equal "each work has its own number of nodes: name it, such as `skep scale w0=3`",
                 scale([0, 1], [1, 1], 3)
    assert_equal "the swarm has room for 20 nodes, not for 21: start it again with that many",
                 scale([0], [nil], 21)
    assert_equal [[], []], [@pool.changes, @published]
  end

  test "the only work is scaled without its name, too, if it has a number of its own" do
    assert_nil scale([0], [1], 3)
    assert_equal [[:add, 0, 2]], @pool.changes
  end

  test "works are scaled by their names, those with a number of their own too" do
    assert_nil scale([0, 1, 1], [nil, 2], nil, works: { "w0" => 3, "w1" => 1 })
    assert_equal [[:add, 0, 2], [:remove, 2, "scale"]], @pool.changes
    assert_equal [:swarm_scaled], @published.last
  end

  test "a scale by names changes nothing if one of them is wrong" do
    { { "w0" => 3, "w7" => 1 } => 'there is no work "w7", but w0, w1',
      { "w0" => 3, "w1" => 0 } => "give a whole number of nodes, 1 or more",
      { "w0" => 20, "w1" => 1 } => "the swarm has room for 20 nodes, not for 21: start it again " \
                                   "with that many",
      {} => "give the numbers of nodes by works",
      "w0" => "give the numbers of nodes by works" }.each do |works, sentence|
      assert_equal sentence, scale([0, 1], [nil, 1], nil, works:)
      assert_equal [[], []], [@pool.changes, @published]
    end
  end

  private

  # Starts a refork of this node, which becomes a mold.
  def reforked(node)
    node.define_singleton_method(:pidfd) { Struct.new(:watchable?).new(true) }
    @changes.refork(node)
    @parts.ready(@parts.booting.first)
    @parts.node_pool.became_mold(node)
    @mold = @parts.mold_pool.molds.last
  end

  def fail_reload(error)
    mold = @parts.mold_pool.asked.reverse.find { |name, *| name == :start }.last
    mold.rollout.mold_rejected(error, 1)
  end

  def close_channels = @parts.mold_pool.taken.each(&:close)

  def restart(*id) = @changes.restart(*id) { |why| @ended << why }

  # tasks: the work of each slot. counts: `nodes` of each work.
  def scale(tasks, counts, count, **works)
    @supervisor.node_pool = @pool = NodePool.new(tasks)
    plain = counts.each_with_index.map do |nodes, number|
      { "name" => "w#{number}", "options" => { "nodes" => nodes }.compact }
    end
    @supervisor.config = Skep::Swarm::Definition::Config.new("s", {}, tasks: plain)
    @changes.scale(count, **works)
  end
end
