# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/systemd"

class NotifierTest < Skep::TestCase
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
    @notifier&.on_close
    @systemd.close
    @loop.close
    FileUtils.remove_entry(@directory)
  end

  test "ignores a work's event with the name of a rollout's event" do
    start
    @slots.each { |slot| ready(slot) }
    received while @systemd.wait_readable(0)
    publish("reload_started", node: 0)
    refute_includes received, "RELOADING=1"
    publish("reload_started")
    assert_includes received, "RELOADING=1"
  end

  test "removes systemd's variables from the environment" do
    @env.update("WATCHDOG_USEC" => "4000000", "WATCHDOG_PID" => "1")
    start

    assert_equal({ "LANG" => "C" }, @env)
  end

  test "sends READY=1 once a node is ready and each other one is or has failed" do
    start(:booting)
    assert_equal ["STATUS=loading swarm.rb", "EXTEND_TIMEOUT_USEC=42000000"], read
    @supervisor.state = :running
    ready(@slots.first)
    refute_includes received, "READY=1"
    @slots.last.last_exit = :an_exit
    @slots.last.state = :looping
    publish("node_died")

    assert_equal ["READY=1", "STATUS=1 of 2 nodes ready, 1 in a crash loop"], read
  end

  test "sends RELOADING=1 while a restart runs, and why it failed" do
    start_ready
    publish("restart_started")
    reloading = read
    publish("restart_failed", error: "node 1 could not\nbe replaced")

    assert_equal ["RELOADING=1", "STATUS=restart in progress, 2 nodes ready"],
                 reloading.grep(/RELOADING|STATUS/)
    assert_in_delta Skep::OS.now * 1e6, reloading[1][/\AMONOTONIC_USEC=(\d+)\z/, 1].to_i, 10e6
    assert_equal ["READY=1", "STATUS=2 nodes ready; the last restart failed: node 1 could not " \
                             "be replaced"], read
  end

  test "answers a reload that is refused as systemd expects" do
    start_ready
    publish("reload_refused", error: "no")

    assert_equal %w[RELOADING=1 READY=1], [read.first, read.first]
  end

  test "sends STOPPING=1 and how long the stop may take" do
    start_ready
    @supervisor.state = :stopping
    publish("swarm_stopping")

    assert_equal ["STOPPING=1", "STATUS=stopping, 2 nodes left", "EXTEND_TIMEOUT_USEC=22000000"],
                 read
  end

  test "sends why a boot failed, without its secrets" do
    start(:booting)
    read
    @supervisor.state = :stopped
    @supervisor.failures << "can't reach redis://user:hunter2@host"
    @notifier.on_close

    assert_equal ["STATUS=can't reach redis://user:[secret]@host"], read
  end

  test "sends STATUS once a second at most, and only if it has changed" do
    started = Skep::OS.now
    start_ready
    @slots.last.node.ready = false
    5.times { publish("node_died") }
    publish("node_ready")
    early = received
    assert early.empty? || Skep::OS.now >= started + 1
    @loop.turn(5) if early.empty?

    assert_equal ["STATUS=1 of 2 nodes ready"], early + received
    publish("node_ready")
    assert_match(/timers=1/, @loop.inspect)
    @loop.turn(5)
    refute @systemd.wait_readable(0)
  end

  test "pings the watchdog as often as systemd asks" do
    @env["WATCHDOG_USEC"] = "20000"
    start_ready(alive: true)
    3.times { @loop.turn(5) }

    assert_equal [["WATCHDOG=1"]] * 3, Array.new(3) { read }
  end

  test "doesn't ping a watchdog that is another process' own" do
    @env.update("WATCHDOG_USEC" => "20000", "WATCHDOG_PID" => "1")
    start_ready

    assert_match(/timers=0/, @loop.inspect)
  end

  test "stops pinging without a ready node if watchdog is :nodes" do
    @env["WATCHDOG_USEC"] = "20000"
    start_ready(alive: true, options: { watchdog: :nodes })
    @slots.each { |slot| slot.node.ready = false }
    @loop.turn(5)
    assert_equal ["WATCHDOG=1"], read
    @supervisor.define_singleton_method(:boot_limit) { 0.0 }
    @loop.turn(5)

    refute @systemd.wait_readable(0)
  end

  test "sends nothing and waits for nothing unless systemd asks" do
    @env.clear
    start
    publish("node_ready")

    assert_match(/ios=0 timers=0/, @loop.inspect)
  end

  test "waits for nothing once systemd has gone" do
    start_ready
    @systemd.close
    publish("restart_started")
    publish("restart_finished")

    assert_match(/ios=0/, @loop.inspect)
  end

  private

  def start(state = :running, options: {})
    config = Skep::Swarm::Definition::Config.new("a", { stop_timeout: 12, **options }, tasks: [{}])
    @supervisor = Supervisor.new(loop: @loop, config:, state:, failures: [],
                                 node_pool: NodePool.new(@slots))
    @notifier = Skep::Systemd::Notifier.new(env: @env)
    @notifier.configured(@supervisor)
  end

  # All nodes are ready, and systemd was notified of it.
  def start_ready(alive: false, options: {})
    @slots.each { |slot| slot.node = Node.new(true) }
    start(options:)
    read if alive
    assert_equal "READY=1", read.first
  end

  def ready(slot)
    slot.node = Node.new(true)
    publish("node_ready")
  end

  def publish(name, **facts)
    @notifier.event(name, :info, facts)
    @loop.turn(0)
  end

  # Returns the lines that have arrived already.
  def received = @systemd.wait_readable(0) ? read : []

  def read = wait_readable(@systemd).recv(4096).force_encoding("UTF-8").split("\n")
end
