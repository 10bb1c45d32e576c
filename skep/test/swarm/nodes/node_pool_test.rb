# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# Uses a real event loop and page. The test acts as the mold, and the nodes' processes are idle.
class NodePoolTest < Skep::TestCase
  Swarm = Skep::Swarm
  Exit = Swarm::IPC::ExitStatus
  # Records the requested forks.
  class Mold
    attr_reader :forked, :sockets

    def initialize
      @forked, @sockets = [], []
    end

    def number = 0
    def revision = nil
    def live? = true
    def ready? = true
    def events = []

    def fork(node, socket, suspects:)
      @forked << node
      @sockets << socket
      suspects
    end
  end
  # Records the calls beside the events.
  Supervisor = Struct.new(:calls) do
    def leader(_pid) = nil
    def booted = calls << :booted
    def node_exited = nil
    def mold_unused(_mold) = nil
    def kill_molds_later = calls << :kill_molds_later
    def stop(reason:) = calls << reason
    def finish = calls << :finish
  end
  private_constant :Swarm, :Exit, :Mold, :Supervisor

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @lifecycle = Swarm::Supervisor::Lifecycle.new
    @events, @bus = [], Swarm::Runtime::EventBus.new
    @bus.subscribe { |event| @events << event.name }
    @mold = Mold.new
    build_pool
  end

  def teardown
    @pool.node_table.nodes.each do |node|
      node.kill("test")
      node.pidfd&.wait(timeout: 30)
      node.ended(nil)
    end
    [@loop, @page, *@mold.sockets].each(&:close)
    super
  end

  test "each slot waits until there is a mold, which forks a node for it" do
    @pool.start
    assert_equal %i[waiting waiting], @pool.slots.map(&:status)
    @pool.mold = @mold
    assert_equal [0, 1], @mold.forked.map(&:id)
  end

  test "a ready node keeps its slot until it crashes, then another node is forked" do
    node, = ready_nodes
    assert_equal [true, %i[node_forked node_ready]], [@pool.ever_ready?, @events.first(2)]
    pid = node.pid
    @pool.node_exited(node.page_index, pid + 1, Exit.new(3)) # an earlier process of that index
    assert_predicate node, :live?
    crash(node)
    assert_equal [:node_died, [0, 1, 0]], [@events.last, @mold.forked.map(&:id)]
  end

  test "keeps a node's exit while its successor can't be forked, as the mold has ended" do
    node, = ready_nodes
    crash(node)
    assert_nil @mold.forked.last.pid
    @pool.mold_exited(@mold)
    slot = @pool.slots.first
    assert_equal [:waiting, Exit.new(nil, "KILL")], [slot.status, slot.last_exit]
  end

  test "kills a forked process whose page index has no node" do
    pid = process
    @pool.node_forked(5, pid, Skep::OS::Pidfd.open(pid))
    assert_equal "KILL", Signal.signame(Process.wait2(pid).last.termsig)
  end

  test "a fork that is reported twice leaves its node alone" do
    node, = ready_nodes
    pidfd = Skep::OS::Pidfd.open(node.pid)
    @pool.node_forked(node.page_index, node.pid, pidfd)
    assert_predicate pidfd, :closed?
    assert_nil node.pidfd.wait(timeout: 0.1)
  end

  test "forks are tried again after a backoff, one at a time until one succeeds" do
    start
    refuse_forks
    assert_equal [:fork_failed], @events
    retry_fork
    assert_equal 3, @mold.forked.size
    refuse_forks
    assert_equal %i[fork_failed fork_failed], @events
    retry_fork
    fork_and_ready(@mold.forked.last, ready: false)
    assert_equal [5, [0, 1]], [@mold.forked.size, @mold.forked.last(2).map(&:id).sort]
  end

  test "forks that the system refuses are no deaths, however many there are" do
    build_pool(max_restarts: 1, on_crash_loop: "stop")
    start
    4.times do
      refuse_forks
      retry_fork
    end
    Swarm::IPC::Channel.stub(:pair, ->(**) { raise Errno::EMFILE }) do
      refuse_forks
      retry_fork
    end
    assert_equal [[[], []], [:fork_failed]],
                 [@pool.slots.map { |slot| slot.deaths.times }, @events.uniq]
    retry_fork
    fork_and_ready(@mold.forked.last)
    assert_includes @events, :node_ready
  end

  test "a successor that can't be forked is tried again, and the node stays" do
    node, = ready_nodes
    @pool.replace(node, "memory_limit")
    @pool.fork_failed(@mold.forked.last.page_index, "EAGAIN")
    slot = @pool.slots.first
    assert_equal [%i[node_replacing fork_failed], "EAGAIN", [node]],
                 [@events.last(2), slot.failure, slot.nodes]
    retry_fork
    fork_and_ready(@mold.forked.last)
    crash(node)
    assert_equal [1, :node_replaced], [@events.count(:node_replacing), @events.last]
  end

  test "a replacement that waits for a fork ends with its reason" do
    node, = ready_nodes
    @pool.replace(node, "memory_limit")
    @pool.fork_failed(@mold.forked.last.page_index, "EAGAIN")
    node.replace_for = nil
    retry_fork
    assert_equal [:replacement_failed, [node]], [@events.last, @pool.slots.first.nodes]
  end

  test "a node that is to be replaced stops once its successor is ready, and is followed by it" do
    node, = ready_nodes
    @pool.replace(node, "memory_limit")
    successor = @mold.forked.last
    fork_and_ready(successor)
    assert_equal [:stopping, "memory_limit"], [node.state, node.reason]
    crash(node)
    assert_equal [[successor], :node_replaced], [@pool.slots.first.nodes, @events.last]
  end

  test "a node that reports itself unfit is replaced, but not its successor at once" do
    node, = ready_nodes
    @pool.replace_failing(node, "nonsense", "work_unfit", {})
    2.times { @pool.replace_failing(node, "unfit", "work_unfit", { topics: "orders" }) }
    successor = @mold.forked.last
    assert_equal [0, 1, 0], @mold.forked.map(&:id)
    fork_and_ready(successor)
    assert_equal [:stopping, "unfit"], [node.state, node.reason]
    crash(node)
    @pool.replace_failing(successor, "unfit", "work_unfit", {})
    assert_equal [3, 1], [@mold.forked.size, @events.count("work_unfit")]
  end

  test "a node says that it is unfit no longer if its successor can't begin" do
    node, = ready_nodes
    measured = { memory: nil, beat_age: 0, done: 0, unhealthy: nil }
    unfit = -> { @pool.slots.first.to_plain(**measured)[:unfit] }
    @pool.replace_failing(node, "unfit", "work_unfit", { error: "EPIPE" })
    assert_equal "EPIPE", unfit.call[:error]
    fork_and_ready(@mold.forked.last, ready: false)
    crash(@mold.forked.last)
    assert_equal :replacement_failed, @events.last
    assert_nil unfit.call
  end

  test "a node that ends its work while its successor boots is followed by nobody" do
    node, other = ready_nodes(restart: "on_failure")
    @pool.replace(node, "memory_limit")
    successor = @mold.forked.last
    fork_and_ready(successor, ready: false)
    exit_well(node)
    assert_equal [:stopping, :replacement_failed], [successor.state, @events.last]
    [other, successor].each { |one| exit_well(one) }
    assert_equal [2, :done], [@events.count(:node_finished), @events.last]
  end

  test "a node that crashes while its successor boots is followed by it" do
    node, = ready_nodes(restart: "on_failure")
    @pool.replace(node, "memory_limit")
    successor = @mold.forked.last
    crash(node)
    fork_and_ready(successor)
    assert_equal [[successor], :node_replaced], [@pool.slots.first.nodes, @events.last]
  end

  test "a fact that comes twice, or that says nothing new, changes nothing" do
    node, = ready_nodes
    2.times { @pool.replace(node, "memory_limit") }
    3.times { @pool.slots.each { |slot| @pool.reconcile(slot) } }
    assert_equal [[0, 1, 0], 1], [@mold.forked.map(&:id), @events.count(:node_replacing)]
  end

  test "one slot is replaced at a time for a reason of its own, the other afterwards" do
    nodes = ready_nodes
    nodes.each { |node| @pool.replace(node, "max_lifetime") }
    assert_equal [0, 1, 0], @mold.forked.map(&:id)
    fork_and_ready(@mold.forked.last)
    crash(nodes.first)
    assert_equal [0, 1, 0, 1], @mold.forked.map(&:id)
  end

  test "what an unfit node reports replaces none of the facts that skep itself keeps" do
    node, = ready_nodes
    facts = { at: "x", why: "y", pid: 1, error: "broken" }
    2.times { @pool.replace_failing(node, "unfit", "work_unfit", facts) }
    assert_equal [node.pid, "unfit", "broken"],
                 node.slot.last_unfit.values_at(:pid, :why, :error)
    assert_kind_of Float, node.slot.to_plain(memory: nil, beat_age: nil, done: 0,
                                             unhealthy: nil)[:unfit][:seconds_ago]
  end

  test "a spare that says it is ready for a slot, before it has one, is a spare all the same" do
    build_pool(spares: 1)
    start
    fork_and_ready(spare = @mold.forked.last)
    assert_equal :booting, spare.state
    @pool.spare_ready(spare)
    assert_equal [:spare, 0], [spare.state, @events.count(:node_ready)]
  end

  test "a spare that has booted steps in at once, however many others are booting" do
    build_pool(boot_concurrency: 1, spares: 2)
    start
    2.times { fork_and_ready(@mold.forked.last) }
    first, second = @pool.slots.map(&:node)
    fork_and_ready(spare = @mold.forked.last, ready: false)
    @pool.spare_ready(spare)
    fork_and_ready(late = @mold.forked.last, ready: false)
    crash(first)
    @pool.spare_stepped_in(spare)
    crash(second)
    @pool.spare_ready(late)
    assert_equal [[spare], [late]], @pool.slots.map(&:nodes)
  end

  test "new slots get the lowest free ids; an id is free once its node has exited" do
    nodes = ready_nodes
    @pool.remove(@pool.slots.first, "scale")
    assert_equal :stopping, nodes.first.state
    @pool.add(0, 1)
    assert_equal [1, 2], @pool.slots.map(&:id)
    crash(nodes.first)
    @pool.add(0, 1)
    assert_equal [0, 1, 2], @pool.slots.map(&:id)
    assert_equal 4, @pool.room
  end

  test "a scale-down that removes the last node with work ends the swarm, as that has exited" do
    nodes = ready_nodes(restart: "on_failure")
    exit_well(nodes.first)
    @pool.remove(@pool.slots.last, "scale")
    refute_includes @events, :done
    exit_well(nodes.last)
    assert_includes @events, :done
  end

  test "a stop restarts nothing, and is finished after the last exit" do
    nodes = ready_nodes
    @lifecycle.stop
    @pool.stop
    assert_equal %i[stopping stopping], nodes.map(&:state)
    nodes.each do |node|
      refute_includes @events, :finish
      crash(node)
    end
    assert_equal [1, 2], [@events.count(:finish), @mold.forked.size]
  end

  test "the end of quiet starts the nodes that ended by it, and no crash loop's" do
    nodes = ready_nodes
    crash(nodes.first)
    5.times do
      fork_and_ready(@mold.forked.last)
      crash(@mold.forked.last)
    end
    @lifecycle.run
    @lifecycle.quiet
    @pool.quiet
    exit_well(nodes.last)
    @pool.end_quiet
    assert_equal [true, false], @pool.slots.map(&:waiting?)
  end

  test "a stop ends the replacements under way, once" do
    node, = ready_nodes
    @pool.replace(node, "memory_limit")
    @lifecycle.stop
    2.times { @pool.stop }
    assert_equal 1, @events.count(:replacement_failed)
  end

  test "a ready node that ends on its own has stop_timeout, then it is killed" do
    node, = ready_nodes(stop_timeout: 0.05)
    @pool.node_leaving(node)
    assert_equal [:stopping, false], [node.state, node.killed?]
    @loop.turn(5) until node.killed?
    assert_equal "stop_timeout", node.reason
  end

  test "in a stop each work has its own stop_timeout" do
    build_pool(works: [{ "nodes" => 1, "stop_timeout" => 0.05 }, { "nodes" => 1 }])
    early, late = ready_nodes
    @lifecycle.stop
    @pool.stop
    @loop.turn(5) until early.killed?
    assert_equal ["stop_timeout", false], [early.reason, late.killed?]
  end

  test "each work has its own boot_timeout and restart" do
    build_pool(works: [{ "nodes" => 1, "boot_timeout" => 0.05, "restart" => "never" },
                       { "nodes" => 1 }])
    start
    early, late = @mold.forked.dup
    [early, late].each { |node| fork_and_ready(node, ready: false) }
    @loop.turn(5) until early.killed?
    assert_equal ["boot_timeout", false], [early.reason, late.killed?]
    crash(early)
    @pool.node_ready(late)
    crash(late)
    assert_equal [false, true], @pool.slots.map(&:live?)
  end

  test "never_restart_on is about nodes that end on their own, not about hung or unhealthy ones" do
    nodes = ready_nodes(never_restart_on: 0)
    nodes.first.reason = "unhealthy"
    nodes.each { |node| exit_well(node) }
    assert_equal [true, false], @pool.slots.map(&:live?)
  end

  test "events of a node name its work where there are several" do
    facts = []
    @bus.subscribe { |event| facts << event.facts[:work] if event.name == :node_forked }
    build_pool(works: [{ "nodes" => 1 }, { "nodes" => 1 }])
    ready_nodes
    assert_equal %w[w0 w1], facts
  end

  test "events of a node don't name the only work" do
    facts = []
    @bus.subscribe { |event| facts << event.facts.key?(:work) if event.name == :node_forked }
    ready_nodes
    assert_equal [false, false], facts
  end

  test "a booting node that ends on its own has its boot_timeout" do
    start
    node = @mold.forked.first
    fork_and_ready(node, ready: false)
    @pool.node_leaving(node)
    assert_equal :booting, node.state
  end

  test "kill_all kills all nodes at once, and later their molds" do
    nodes = ready_nodes
    @pool.kill_all("QUIT")
    assert_includes @events, :kill_molds_later
    assert_equal [%w[QUIT QUIT], true], [nodes.map(&:reason), nodes.all?(&:killed?)]
    nodes.each { |node| crash(node) }
    assert_includes @events, :finish
  end

  test "a pool without a process is drained at once" do
    @lifecycle.stop
    @pool.stop
    assert_equal [:finish], @events
  end

  private

  # works: the options of each.
  def build_pool(works: [{}], **options)
    options = { "nodes" => 2, "boot_concurrency" => 9, **options.transform_keys(&:to_s) }
    tasks = works.map.with_index { |own, number| { "name" => "w#{number}", "options" => own } }
    config = Swarm::Definition::Config.new("s", options, tasks:)
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 8, threads: 1)
    @page&.close
    @page = Skep::OS::SharedPage.create(layout.total)
    @pool = Swarm::Nodes::NodePool.new(Supervisor.new(@events), config, @lifecycle,
                                       loop: @loop, events: @bus, page: @page, layout:)
  end

  def process = Process.spawn("sleep", "60", pgroup: true)

  def start
    @pool.mold = @mold
    @pool.start
  end

  def ready_nodes(**options)
    build_pool(**options) if options.any?
    start
    @mold.forked.dup.each { |node| fork_and_ready(node) }
  end

  # Those that were asked for.
  def refuse_forks
    @mold.forked.each { |node| @pool.fork_failed(node.page_index, "EAGAIN") if node.live? }
  end

  # Waits until the backoff after a refusal is over.
  def retry_fork
    over = @pool.budget.backoff.retry_at
    @loop.turn(5) until Skep::OS.now >= over
    @loop.turn(0)
  end

  def fork_and_ready(node, ready: true)
    pid = process
    @pool.node_forked(node.page_index, pid, Skep::OS::Pidfd.open(pid))
    @pool.node_ready(node) if ready
  end

  # Ends the process, and reports that it has exited well.
  def exit_well(node)
    node.pidfd.signal(:KILL)
    node.pidfd.wait(timeout: 30)
    @pool.node_exited(node.page_index, node.pid, Exit.new(0))
  end

  # Kills the process, and reports its exit as the mold does.
  def crash(node)
    node.pidfd.signal(:KILL) unless node.killed?
    status = node.pidfd.wait(timeout: 30)
    @pool.node_exited(node.page_index, node.pid, Exit.of(status))
  end
end
