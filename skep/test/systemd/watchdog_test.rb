# frozen_string_literal: true

require "test_helper"
require "skep/systemd"

class WatchdogTest < Skep::TestCase
  Watchdog = Skep::Systemd::Watchdog
  Supervisor = Struct.new(:loop, :config, :node_pool, :stopping, :boot_limit, keyword_init: true) do
    def stopping? = stopping
  end
  Config = Struct.new(:watchdog)
  NodePool = Struct.new(:slots)
  Slot = Struct.new(:nodes)
  Node = Struct.new(:ready) do
    def ready? = ready
  end
  private_constant :Watchdog, :Supervisor, :Config, :NodePool, :Slot, :Node

  def setup
    @loop = Skep::OS::EventLoop.new
    @node = Node.new(true)
    @pings = []
  end

  def teardown = @loop.close

  test "exists only if systemd asks this process for pings, and hides its variables" do
    env = { "WATCHDOG_USEC" => "3000000", "WATCHDOG_PID" => "42", "LANG" => "C" }

    assert_in_delta 3.0, Watchdog.from(env, pid: 42).timeout
    assert_equal({ "LANG" => "C" }, env)
    assert_nil Watchdog.from({ "WATCHDOG_USEC" => "3000000", "WATCHDOG_PID" => "41" }, pid: 42)
    assert_nil Watchdog.from({ "WATCHDOG_USEC" => "0" }, pid: 42)
    assert_nil Watchdog.from({}, pid: 42)
  end

  test "pings at once, and again within its timeout" do
    start(:supervisor, timeout: 0.02)
    assert_equal ["WATCHDOG=1"], @pings
    @loop.turn(5)

    assert_equal ["WATCHDOG=1"] * 2, @pings
  end

  test "pings again within its timeout after an error" do
    watchdog = start(:supervisor, timeout: 0.02)
    def watchdog.message = raise("a bug")
    assert_raises(RuntimeError) { @loop.turn(5) }
    watchdog.singleton_class.remove_method(:message)
    @loop.turn(5)

    assert_equal ["WATCHDOG=1"] * 2, @pings
  end

  test "pings without a ready node if watchdog is :supervisor" do
    watchdog = start(:supervisor, boot_limit: 0.0)
    @node.ready = false

    assert_equal "WATCHDOG=1", watchdog.message
  end

  test "stops pinging when no node was ready for the boot limit, if watchdog is :nodes" do
    watchdog = start(:nodes, boot_limit: 60.0)
    @node.ready = false
    assert_equal "WATCHDOG=1", watchdog.message
    @supervisor.boot_limit = 0.0
    assert_nil watchdog.message
    @node.ready = true
    @supervisor.boot_limit = 60.0

    assert_equal "WATCHDOG=1", watchdog.message
  end

  test "pings while the swarm stops, even without a ready node" do
    watchdog = start(:nodes, boot_limit: 0.0)
    @node.ready = false
    @supervisor.stopping = true

    assert_equal "WATCHDOG=1", watchdog.message
  end

  private

  def start(kind, timeout: 60.0, boot_limit: 60.0)
    @supervisor = Supervisor.new(loop: @loop, config: Config.new(kind), boot_limit:,
                                 stopping: false, node_pool: NodePool.new([Slot.new([@node])]))
    Watchdog.new(timeout).tap { |one| one.start(@supervisor) { |ping| @pings << ping } }
  end
end
