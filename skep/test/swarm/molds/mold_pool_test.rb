# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

# With a real loop, and processes that only sleep. The test holds the molds' ends of the channels.
class MoldPoolTest < Skep::TestCase
  Swarm = Skep::Swarm
  # Of NodePool, too, and of a rollout.
  Supervisor = Struct.new(:nodes_requested, :stopping, :reports) do
    def node_pool = self
    def nodes_requested? = nodes_requested
    def stopping? = stopping
    def boot_limit = 60.0
    def revision(plain) = plain["options"]["revision"]
    def oom?(_exit) = false
    def close_in_child = Process.spawn("sleep", "60")
    def fork_failed(*facts) = reports << [:fork_failed, *facts]
    def node_exited(*facts) = reports << [:node_exited, *facts]
    def leader(_pid) = nil
    def pass_on_events = reports << [:pass_on_events]
    def mold_loaded(_mold, plain) = reports << [:mold_loaded, plain]
    def mold_rejected(*facts) = reports << [:mold_rejected, *facts]
    def mold_ready(_mold) = reports << [:mold_ready]
    def mold_exited(*facts) = reports << [:mold_exited, *facts.drop(1)]
  end
  Launcher = Struct.new(:theirs, :failures) do
    def start(_number, close_in_child:)
      ours, socket = Swarm::IPC::Channel.pair
      theirs << Swarm::IPC::Channel.new(socket)
      [close_in_child.call, ours]
    end

    def warmed(**) = nil
    def failed = self.failures += 1
    def obstacle = "the Gemfile was deleted"
  end
  # A machine whose clock the test moves.
  class Clock < Skep::OS::Machine
    attr_accessor :now
  end
  READY = { "seconds" => 0.5, "findings" => ["a thread"], "warnings" => ["no gem"],
            "warmup" => { "gc" => "done" }, "passes_on" => true, "slots" => 3 }.freeze
  # A rollout that rejects each file.
  Rejecting = Struct.new(:pool, :mold) do
    def mold_rejected(*) = pool.retire(mold, in_use: false)
    def mold_exited(*) = nil
  end
  private_constant :Swarm, :Supervisor, :Launcher, :Clock, :READY, :Rejecting

  def setup
    super
    @loop = Skep::OS::EventLoop.new
    @events = Swarm::Runtime::EventBus.new
    @published = []
    @events.subscribe { |event| @published << event }
    @supervisor = Supervisor.new(true, false, [])
    @launcher = Launcher.new([], 0)
    @pool = Swarm::Molds::MoldPool.new(@launcher, @supervisor, loop: @loop, events: @events)
    @page = Skep::OS::SharedPage.create(4096)
    @pool.configure(Swarm::Definition::Config.new("s", { "liveness_timeout" => 30 }, tasks: [{}]),
                    @page, layout)
  end

  def teardown
    @supervisor.stopping = true # no mold is started again
    @pool.molds.each(&:kill)
    turn_until { @pool.molds.empty? }
    [@loop, @page, *@launcher.theirs].each(&:close)
    super
  end

  test "a mold loads, is prepared, and is ready" do
    mold = @pool.start
    send_from(mold, "loaded", "name" => "s", "options" => {}, "tasks" => [],
                              "events" => ["node_died"])
    name, plain = @supervisor.reports.last
    assert_equal [%w[node_died], :mold_loaded, "s"], [mold.events, name, plain["name"]]
    @pool.prepare(mold)
    send_from(mold, "ready", READY)
    assert_equal %i[mold_booting fork_guard work_warning mold_warmed mold_ready],
                 @published.map(&:name)
    assert_equal [[:pass_on_events], [:mold_ready]], @supervisor.reports.last(2)
    assert_predicate mold, :ready?
  end

  test "a mold's processes get the revision of its file, and not that of the first one" do
    mold = @pool.start
    send_from(mold, "loaded", "name" => "s", "options" => { "revision" => "r2" }, "tasks" => [],
                              "events" => [])
    @pool.prepare(mold)
    sent = []
    theirs(mold).receive { |message| sent << message }
    assert_equal "r2", sent.find { |one| one.type == "prepare" }["options"]["revision"]
    send_from(mold, "ready", READY)
    assert_equal [:mold_ready, "r2"], [@published.last.name, @published.last.facts[:revision]]
    assert_equal "r2", from_node_of(mold).revision
  end

  test "ignores a second ready message of a mold" do
    mold = ready_mold
    before = @published.size
    send_from(mold, "ready", READY)
    assert_equal before, @published.size
  end

  test "passes on to the pool of nodes what a mold reports of them" do
    mold = ready_mold
    @supervisor.reports.clear
    send_from(mold, "fork_failed", "page_index" => 3, "error" => "EAGAIN")
    send_from(mold, "exited", "page_index" => 4, "pid" => 42, "exit_status" => 1, "signal" => nil)
    assert_equal [[:fork_failed, 3, "EAGAIN"],
                  [:node_exited, 4, 42, Swarm::IPC::ExitStatus.new(1, nil)]], @supervisor.reports
  end

  test "restarts a mold that dies" do
    dead = ready_mold
    dead.kill
    turn_until { @pool.molds.any? { |mold| mold != dead } }
    assert_equal [1], @pool.molds.map(&:number)
    assert_equal %i[mold_died mold_booting], @published.last(2).map(&:name)
    name, exit_status = @supervisor.reports.last
    assert_equal [:mold_exited, "KILL"], [name, exit_status.signal]
  end

  test "doesn't restart a candidate, a retired mold or a mold of the first boot" do
    ready_mold(@supervisor).kill
    mold = ready_mold
    @pool.retire(mold, in_use: true)
    mold.kill
    turn_until { @pool.molds.empty? }
    @supervisor.nodes_requested = false
    @pool.start.kill
    turn_until { @pool.molds.empty? }
    @loop.turn(0.01)
    assert_empty @pool.molds
    assert_equal 1, @launcher.failures
  end

  test "releases a retired mold once its last node is gone" do
    mold = ready_mold
    @pool.release_if_unused(mold)
    @pool.retire(mold, in_use: true)
    assert_equal :retired, mold.state
    @pool.release_if_unused(mold)
    assert_equal :leaving, mold.state
    assert_equal %w[retire leave], received(mold)
  end

  test "after the first boot, publishes mold_load_failed for an invalid file and kills the mold" do
    mold = @pool.start
    send_from(mold, "refused", "sentence" => "no", "exit_code" => 78)
    turn_until { @pool.molds.empty? || @pool.molds.first != mold }
    assert_equal :mold_load_failed, @published[1].name
    assert_includes @supervisor.reports, [:mold_rejected, "no", 78]
    assert_predicate mold, :killed?
  end

  test "lets a candidate leave whose file its rollout has rejected, without a warning" do
    mold = @pool.start(rollout = Rejecting.new(@pool))
    rollout.mold = mold
    send_from(mold, "refused", "sentence" => "no", "exit_code" => 78)
    assert_equal [:leaving, false], [mold.state, mold.killed?]
    mold.kill # it doesn't leave in time
    turn_until { @pool.molds.empty? }
    died = @published.find { |event| event.name == :mold_died }
    assert_equal :debug, died.level
  end

  test "before the first boot, only tells the supervisor of an invalid file" do
    @supervisor.nodes_requested = false
    mold = @pool.start
    send_from(mold, "refused", "sentence" => "no", "exit_code" => 78)
    assert_equal [:mold_booting], @published.map(&:name)
    assert_equal [[:mold_rejected, "no", 78]], @supervisor.reports
    refute_predicate mold, :killed?
  end

  test "pings molds, and kills a mold that sends nothing for a liveness_timeout" do
    mold, other = ready_mold, ready_mold
    ping_molds(at: 0)
    assert_equal [["ping"], ["ping"]], [mold, other].map { |one| received(one) }
    send_from(other, "pong", {})
    ping_molds(at: 29)
    refute_predicate mold, :killed?
    ping_molds(at: 31)
    assert_equal [:mold_hung, true, false], [@published.last.name, mold.killed?, other.killed?]
  end

  test "a mold has the full time to answer after a pause of the supervisor" do
    mold = ready_mold
    ping_molds(at: 0)
    ping_molds(at: 100, late: 70.0)
    ping_molds(at: 129)
    refute_predicate mold, :killed?
    ping_molds(at: 131)
    assert_predicate mold, :killed?
  end

  test "release ends all molds, and calls its block when none is left" do
    ready_mold
    @pool.start
    gone = false
    @supervisor.stopping = true
    @pool.release { gone = true }
    @pool.kill
    turn_until { gone }
    assert_empty @pool.molds
  end

  private

  # What the timer of the pings does so many seconds from now.
  def ping_molds(at:, late: 0.0)
    clock = Clock.new
    clock.now = Skep::OS.now + at
    Skep::OS.run_on(clock) { @pool.send(:ping_molds, late:) }
  end

  def layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 4, threads: 1)

  def ready_mold(*rollout)
    @pool.start(*rollout).tap do |mold|
      @pool.prepare(mold)
      received(mold)
      send_from(mold, "ready", READY)
    end
  end

  def theirs(mold) = @launcher.theirs[mold.number]

  # A mold that was a node of that mold.
  def from_node_of(mold)
    pid = Process.spawn("sleep", "60")
    ours, socket = Swarm::IPC::Channel.pair
    @launcher.theirs << Swarm::IPC::Channel.new(socket)
    @pool.take(@pool.take_number, pid, Skep::OS::Pidfd.open(pid), ours, Rejecting.new, from: mold)
  end

  def send_from(mold, type, facts)
    theirs(mold).post(type, facts)
    @loop.turn(1)
  end

  # The types of the messages that the pool has sent to the mold.
  def received(mold)
    [].tap { |types| theirs(mold).receive { |message| types << message.type } }
  end

  def turn_until
    deadline = Skep::OS.now + 10
    until yield
      flunk "not within 10 s" if Skep::OS.now > deadline
      @loop.turn(0.1)
    end
  end
end
