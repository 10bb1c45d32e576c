# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class SlotTest < Skep::TestCase
  Nodes = Skep::Swarm::Nodes
  Exit = Skep::Swarm::IPC::ExitStatus
  private_constant :Nodes, :Exit

  # In place of a channel: discards the messages.
  class NullChannel
    def post(*, **) = true
    def close = nil
  end
  private_constant :NullChannel

  def setup
    super
    @slot = Nodes::Slot.new(0, 0)
  end

  test "has a process that boots and works, and waits for the next once it has exited" do
    assert_equal :dead, @slot.status
    @slot.want
    assert_equal :waiting, @slot.status
    node = launch
    assert_equal :booting, @slot.status
    ready(node)
    assert_equal :ready, @slot.status
    assert_equal [:empty, :waiting, 0], [leave(node), @slot.status, @slot.restarts]
    @slot.finish
    assert_equal :dead, @slot.status
  end

  test "is down from an exit until a process is ready, but not while one gives way to another" do
    assert_nil @slot.down_since
    @slot.want
    first = launch
    assert_equal first.asked_at, @slot.down_since # it has never had a ready process
    ready(first)
    assert_nil @slot.down_since
    leave(first)
    began = @slot.down_since
    leave(launch) # it never got ready
    assert_equal began, @slot.down_since
    old = ready(launch)
    assert_nil @slot.down_since
    @slot.renew(1, "restart")
    @slot.begin_replacement
    launch # which isn't ready when the old one ends
    old.retire
    refute_predicate old, :ready?
    assert_nil @slot.down_since # while it finishes what it has
    assert_equal [:promoted, nil], [leave(old), @slot.down_since]
  end

  test "its facts say how it crashes, what it has raised, and when the next process is due" do
    @slot.want
    node = launch(pid: 42)
    @slot.last_failure = { pid: 42, error: "no database", at: "app.rb:3" }
    leave(node, Exit.new(1))
    @slot.looping = true
    @slot.not_before = Skep::OS.now + 9
    plain = facts
    assert_equal({ error: "no database", at: "app.rb:3" }, plain[:failure])
    assert_in_delta 9, plain[:retry_in], 1
    assert_in_delta 0, plain[:looping_for], 5
    assert_kind_of Float, plain[:last_exit][:seconds_ago]
    @slot.looping = false
    assert_nil facts[:looping_for]
    node = launch(pid: 43)
    @slot.last_failure = { pid: 7, error: "of another", at: nil }
    assert_nil facts[:failure]
    @slot.last_unfit = { at: Skep::OS.now, pid: 43, why: "unfit", error: "broken" }
    assert_nil facts[:unfit]
    node.replace_for = "unfit"
    assert_equal %w[unfit broken], facts[:unfit].values_at(:why, :error)
  end

  test "the backtraces of a hang are dropped after an hour, its other facts aren't" do
    @slot.last_hang = { at: Skep::OS.now, reason: "hung", threads: [{ "name" => "main" }] }
    @slot.forget_old_backtraces(Skep::OS.now + 3500)
    assert_equal [{ "name" => "main" }], facts[:last_hang][:threads]
    @slot.forget_old_backtraces(Skep::OS.now + 3700)
    assert_equal %i[seconds_ago reason], facts[:last_hang].keys
  end

  test "belongs to the successor once the old process has exited, and is replaced then" do
    old = ready(launch)
    @slot.renew(1, "restart")
    @slot.begin_replacement
    successor = ready(launch)
    assert_equal [[old, successor], false], [@slot.nodes, @slot.replaced?]
    assert_equal :promoted, leave(old)
    assert_equal [[successor], true, 1], [@slot.nodes, @slot.replaced?, @slot.restarts]
    assert_equal ["restart", nil], Array.new(2) { @slot.end_replacement }
  end

  test "keeps its process if the successor exits, and settles for it" do
    old = ready(launch)
    @slot.renew(1, "restart")
    @slot.begin_replacement
    assert_equal [:kept, [old], 0], [leave(launch), @slot.nodes, @slot.restarts]
    assert_equal "restart", @slot.reason_to_replace
    @slot.settle
    assert_equal [0, nil], [@slot.generation, @slot.reason_to_replace]
  end

  test "its process is to be replaced for its own reason, or as it is of an old generation" do
    node = launch
    assert_nil @slot.reason_to_replace
    @slot.renew(1, "restart")
    assert_equal "restart", @slot.reason_to_replace
    node.replace_for = "memory_limit"
    assert_equal "memory_limit", @slot.reason_to_replace
    leave(node)
    launch
    assert_nil @slot.reason_to_replace
  end

  test "remembers the generation of a process that never worked" do
    leave(ready(launch))
    assert_nil @slot.failed_generation
    leave(launch)
    assert_equal 0, @slot.failed_generation
  end

  test "a process that the system has refused is neither a failed start nor a death" do
    leave(launch.tap(&:fork_refused!), Exit.new)
    @slot.fork_refused("no descriptor")
    assert_equal [nil, "no descriptor", []],
                 [@slot.failed_generation, @slot.failure, @slot.deaths.times]
  end

  test "a successor that the system has refused is due as long as the old process is there" do
    node = ready(launch)
    @slot.renew(1, "restart")
    @slot.begin_replacement
    assert_equal [true, false], [@slot.successor_due?, @slot.replaced?]
    successor = launch
    refute_predicate @slot, :successor_due?
    leave(successor.tap(&:fork_refused!), Exit.new)
    assert_predicate @slot, :successor_due?
    leave(node)
    refute_predicate @slot, :successor_due?
    @slot.end_replacement
    ready(launch)
    refute_predicate @slot, :successor_due?
  end

  test "keeps the end of a successor as its failure, unless it has reported one" do
    ready(launch)
    leave(launch.tap { |node| node.reason = "boot_timeout" }, Exit.new(nil, "KILL"))
    assert_equal "the new process ended, SIGKILL (boot_timeout)", @slot.failure
    @slot.failure = "no database"
    leave(launch, Exit.new(3))
    assert_equal "no database", @slot.failure
  end

  test "counts no process that refused to begin as a crash, and the next one again" do
    3.times { leave(launch.tap { |node| node.refused = true }, Exit.new(1)) }
    assert_equal [3, { "boot" => 0, "work" => 0 }],
                 [@slot.deaths.times.size, @slot.deaths.counts]
    leave(launch, Exit.new(7))
    assert_equal [1, { "boot" => 1, "work" => 0 }],
                 [@slot.deaths.times.size, @slot.deaths.counts]
  end

  test "counts its restarts by what had ended the process before" do
    [Exit.new(nil, "SEGV"), Exit.new(1), Exit.new(0), Exit.new, nil,
     Exit.new(nil, "KILL")].each { |exit| leave(launch, exit) }
    leave(launch.tap { |node| node.reason = "hung" }, Exit.new(nil, "KILL"))
    leave(launch(pid: nil), Exit.new) # couldn't be forked
    assert_equal({ "signal" => 2, "failure" => 1, "clean" => 1, "unknown" => 1, "refork" => 1,
                   "hung" => 1 }, restarts_by)
    launch
    assert_equal 1, restarts_by["fork_failed"]
  end

  test "a slot whose process has died is interrupted until the next is launched" do
    leave(ready(launch))
    @slot.interrupted = true
    assert_predicate @slot, :interrupted?
    launch
    refute_predicate @slot, :interrupted?
  end

  # With "done" and :done the JSON would have a key twice, which newer JSON libraries refuse.
  test "to_plain has each key of the work once, even if the work reports done" do
    plain = Struct.new(:state, :pid, :mold, :assigned?, :work, :generation, :asked_at, :ready?,
                       :stepping_in?, :failing?, :replace_for)
    @slot.launch(plain.new(:ready, 7, nil, true, { "done" => 3 }, 0))
    work = @slot.to_plain(memory: nil, beat_age: 0.1, done: 5, unhealthy: nil)[:work]
    assert_equal [["done", 3]], work.map { |name, value| [name.to_s, value] }
  end

  private

  def facts = @slot.to_plain(memory: nil, beat_age: nil, done: 0, unhealthy: nil)

  def launch(pid: 7)
    node = Nodes::NodeProcess.new(0, @slot, nil, 1.0)
    node.listens_to(NullChannel.new)
    node.forked(pid, nil)
    @slot.launch(node)
    node
  end

  def ready(node)
    node.ready(2.0)
    node
  end

  def restarts_by
    @slot.to_plain(memory: nil, beat_age: nil, done: 0, unhealthy: nil)[:restarts_by]
  end

  def leave(node, exit = Exit.new(0))
    node.ended(exit)
    @slot.leave(node, exit, 3.0, within: 60.0)
  end
end
