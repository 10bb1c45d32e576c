# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep/swarm"

# The upgrade up to its trial. What follows replaces this process; scenarios test it.
class UpgradeTest < Skep::TestCase
  Swarm = Skep::Swarm
  Upgrade = Swarm::Rollout::Upgrade
  Boots = Struct.new(:any) do
    def any? = any
  end
  Mold = Struct.new(:number) do
    def ready? = true
    def booted? = true
    def candidate? = false
    def killed? = false
    def channel = self
    def open? = true
    attr_writer :pending

    def fds_in_flight? = false
    def pending? = @pending
  end
  NodePool = Struct.new(:mold, :boots, :replacements, :all, :node_table, keyword_init: true)
  NodeTable = Struct.new(:nodes)
  MoldPool = Struct.new(:molds)
  Supervisor = Struct.new(:loop, :events, :arguments, :node_pool, keyword_init: true) do
    def dump(_state_file) = { "name" => "billing" }
    def stopping? = false
  end
  FILE = File.expand_path(__FILE__)
  private_constant :Swarm, :Upgrade, :Boots, :Mold, :NodePool, :NodeTable, :MoldPool, :Supervisor,
                   :FILE

  def setup
    super
    @folder = Dir.mktmpdir
    @mold = Mold.new(0)
    @node_pool = NodePool.new(mold: @mold, boots: Boots.new(false), replacements: Boots.new(false),
                              all: [], node_table: NodeTable.new([]))
    @supervisor = Supervisor.new(loop: Skep::OS::EventLoop.new, arguments: ["swarm.rb"],
                                 events: Swarm::Runtime::EventBus.new, node_pool: @node_pool)
    @mold_pool = MoldPool.new([@mold])
    @ended = []
  end

  def teardown
    @supervisor.loop.close
    FileUtils.remove_entry(@folder)
    super
  end

  test "refuses a program that is missing, or isn't named by absolute paths" do
    skip "it needs the C extension" unless Skep::OS.native?
    assert_nil refusal([RbConfig.ruby, FILE])
    [[RbConfig.ruby, "Rakefile"], [RbConfig.ruby, "#{@folder}/none"], [RbConfig.ruby], "ruby",
     [RbConfig.ruby, "#{FILE}\0"]].each do |program|
      assert_match(/\Athere is no such program: /, refusal(program), program.inspect)
    end
  end

  test "refuses to upgrade a supervisor within the user's program" do
    @supervisor.arguments = nil
    assert_equal "your own program runs the supervisor: start it again",
                 refusal([RbConfig.ruby, FILE])
  end

  test "refuses while a node boots or no mold is ready, with the reason" do
    skip "it needs the C extension" unless Skep::OS.native?
    @node_pool.boots = Boots.new(true)
    assert_equal "a node is about to be forked or replaced: try again",
                 refusal([RbConfig.ruby, FILE])
    @node_pool.mold = nil
    assert_equal "there is no mold to fork from: try again", refusal([RbConfig.ruby, FILE])
  end

  # The trial restores the channels, and would send it, too.
  test "refuses while a message waits to be sent to a mold" do
    skip "it needs the C extension" unless Skep::OS.native?
    @mold.pending = true
    assert_equal "mold 0 starts or stops: try again", refusal([RbConfig.ruby, FILE])
  end

  test "a trial that fails ends the upgrade, with what the trial printed" do
    try('warn "skep: it needs Ruby 4"; exit 1')
    assert_equal ["the new program can't take over: it needs Ruby 4"], @ended
  end

  test "a trial that exits with 0 but prints nothing is no skep" do
    try("")
    assert_equal ["the new program can't take over: it is no skep, or another one"], @ended
  end

  test "the trial gets the state in a descriptor, and the arguments" do
    try(<<~'RUBY')
      state = JSON.parse(IO.for_fd(ARGV[1][/\d+/].to_i).tap(&:rewind).read)
      warn [ARGV.values_at(0, 2), state.values_at("name", "trial")].inspect
    RUBY
    assert_includes @ended.first, %([["run", "swarm.rb"], ["billing", true]])
  end

  test "another change cancels the trial, another upgrade doesn't" do
    skip "an upgrade needs the C extension" unless Skep::OS.native?
    upgrade = start("sleep")
    upgrade.give_way("upgrade")
    assert_empty @ended
    pid = upgrade.pid
    upgrade.give_way("reload")
    assert_equal ["a reload was asked for meanwhile: try again"], @ended
    assert_equal "KILL", Signal.signame(Process.wait2(pid).last.termsig)
    assert_nil upgrade.pid
  end

  private

  def refusal(program) = Upgrade.refusal(@supervisor, @mold_pool, program)

  def start(source)
    File.write("#{@folder}/skep", "require 'json'; #{source}")
    program = [RbConfig.ruby, "#{@folder}/skep"]
    Upgrade.new(@supervisor, @mold_pool, program) { |why| @ended << why }.tap(&:start)
  end

  def try(source)
    start(source)
    @supervisor.loop.turn(5) until @ended.any?
  end
end
