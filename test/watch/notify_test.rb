# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/watch"

class NotifyTest < Skep::TestCase
  Supervisor = Struct.new(:loop, :config, :state, :node_pool, :failures, keyword_init: true) do
    def outcome = nil
    def stopping? = %i[stopping stopped].include?(state)
    def boot_limit = 20.0
    def file = "swarm.rb"
  end
  NodePool = Struct.new(:slots) do
    def ever_ready? = slots.any? { |slot| slot.node&.ready? || slot.last_exit }
    def spare_slots = []
    def node_table = Struct.new(:nodes).new(slots.filter_map(&:node))
  end
  Slot = Struct.new(:node, :state, :last_exit, :refusal) do
    def nodes = [node].compact
    def looping? = state == :looping
    def waiting? = state == :waiting
  end
  Node = Struct.new(:ready) do
    def ready? = ready
    def helper? = false
  end
  private_constant :Supervisor, :NodePool, :Slot, :Node

  def setup
    @directory = Dir.mktmpdir
    path = File.join(@directory, "notify")
    @systemd = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(path, :DGRAM)) }
    @loop = Skep::OS::EventLoop.new
    @env = { "NOTIFY_SOCKET" => path, "LANG" => "C" }
    @slots = Array.new(2) { Slot.new }
  end

  def teardown
    @notify&.closed
    @systemd.close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "takes no event of a work's own for a change of the swarm's" do
    begin_to_work
    @slots.each { |slot| ready(slot) }
    said while @systemd.wait_readable(0)
    tell("reload_started", node: 0)
    refute_includes said, "RELOADING=1"
    tell("reload_started")
    assert_includes said, "RELOADING=1"
  end

  test "keeps its name from every other process" do
    @env.update("WATCHDOG_USEC" => "4000000", "WATCHDOG_PID" => "1")
    begin_to_work

    assert_equal({ "LANG" => "C" }, @env)
  end

  test "is ready when a node is, and each of the others is or has failed once" do
    begin_to_work(:booting)
    assert_equal ["STATUS=loading swarm.rb", "EXTEND_TIMEOUT_USEC=42000000"], read
    @supervisor.state = :running
    ready(@slots.first)
    refute_includes said, "READY=1"
    @slots.last.last_exit = :an_exit
    @slots.last.state = :looping
    tell("node_died")

    assert_equal ["READY=1", "STATUS=1 of 2 nodes ready, 1 in a crash loop"], read
  end

  test "reloads while the nodes are renewed" do
    begin_ready
    tell("restart_started")
    reloading = read
    tell("restart_failed", message: "node 1 could not\nbe replaced")

    assert_equal ["RELOADING=1", "STATUS=restart under way, 2 nodes ready"],
                 reloading.grep(/RELOADING|STATUS/)
    assert_in_delta Skep::OS.now * 1e6, reloading[1][/\AMONOTONIC_USEC=(\d+)\z/, 1].to_i, 10e6
    assert_equal ["READY=1", "STATUS=2 nodes ready; the last restart failed: node 1 could not " \
                             "be replaced"], read
  end

  test "answers who waits for a reload that is refused" do
    begin_ready
    tell("reload_refused", message: "no")

    assert_equal %w[RELOADING=1 READY=1], [read.first, read.first]
  end

  test "says that it stops, and for how long that may take" do
    begin_ready
    @supervisor.state = :stopping
    tell("swarm_stopping")

    assert_equal ["STOPPING=1", "STATUS=stopping, 2 nodes left", "EXTEND_TIMEOUT_USEC=22000000"],
                 read
  end

  test "tells the last word of a boot that came to nothing, without its secrets" do
    begin_to_work(:booting)
    read
    @supervisor.state = :stopped
    @supervisor.failures << "can't reach redis://user:hunter2@host"
    @notify.closed

    assert_equal ["STATUS=can't reach redis://user:[secret]@host"], read
  end

  test "says how it is once a second at most, and not what it has said" do
    began = Skep::OS.now
    begin_ready
    @slots.last.node.ready = false
    5.times { tell("node_died") }
    tell("node_ready")
    early = said
    assert early.empty? || Skep::OS.now >= began + 1
    @loop.turn(5) if early.empty?

    assert_equal ["STATUS=1 of 2 nodes ready"], early + said
    tell("node_ready")
    assert_match(/timers=1/, @loop.inspect)
    @loop.turn(5)
    refute @systemd.wait_readable(0)
  end

  test "says that it lives as often as it is asked to" do
    @env["WATCHDOG_USEC"] = "20000"
    begin_ready(alive: true)
    3.times { @loop.turn(5) }

    assert_equal [["WATCHDOG=1"]] * 3, Array.new(3) { read }
  end

  test "says nothing of the kind for another process" do
    @env.update("WATCHDOG_USEC" => "20000", "WATCHDOG_PID" => "1")
    begin_ready

    assert_match(/timers=0/, @loop.inspect)
  end

  test "lives while its nodes do, where that is asked for" do
    @env["WATCHDOG_USEC"] = "20000"
    begin_ready(alive: true, options: { watchdog: :nodes })
    @slots.each { |slot| slot.node.ready = false }
    @loop.turn(5)
    assert_equal ["WATCHDOG=1"], read
    @supervisor.define_singleton_method(:boot_limit) { 0.0 }
    @loop.turn(5)

    refute @systemd.wait_readable(0)
  end

  test "goes on in the next program" do
    begin_ready
    kept = JSON.parse(JSON.generate(@notify.dump(nil)))
    @notify.disown
    @notify = Skep::Watch::Notify.new(env: {})
    @notify.resumed(@supervisor, kept, nil)
    tell("upgrade_finished")

    assert_equal ["READY=1", "STATUS=2 nodes ready"], read
  end

  test "is silent where nobody asks" do
    @env.clear
    begin_to_work
    tell("node_ready")

    assert_match(/ios=0 timers=0/, @loop.inspect)
  end

  test "does no harm where systemd has gone" do
    begin_ready
    @systemd.close
    tell("restart_started")
    tell("restart_finished")

    assert_match(/ios=0/, @loop.inspect)
  end

  private

  def begin_to_work(state = :running, options: {})
    config = Skep::Swarm::Definition::Config.new("a", { stop_timeout: 12, **options }, tasks: [{}])
    @supervisor = Supervisor.new(loop: @loop, config:, state:, failures: [],
                                 node_pool: NodePool.new(@slots))
    @notify = Skep::Watch::Notify.new(env: @env)
    @notify.configured(@supervisor)
  end

  # All nodes are ready, and it has said so.
  def begin_ready(alive: false, options: {})
    @slots.each { |slot| slot.node = Node.new(true) }
    begin_to_work(options:)
    read if alive
    assert_equal "READY=1", read.first
  end

  def ready(slot)
    slot.node = Node.new(true)
    tell("node_ready")
  end

  def tell(name, **facts)
    @notify.event(name, :info, facts)
    @loop.turn(0)
  end

  # What is there already.
  def said = @systemd.wait_readable(0) ? read : []

  def read = wait_readable(@systemd).recv(4096).force_encoding("UTF-8").split("\n")
end
