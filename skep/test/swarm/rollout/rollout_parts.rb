# frozen_string_literal: true

require "skep/swarm"

# A real pool of nodes whose molds fork nothing: the test reports what becomes of each process. A
# pool of molds that records its calls, and an event bus.
class RolloutParts
  Swarm = Skep::Swarm
  Exit = Swarm::IPC::ExitStatus
  private_constant :Swarm, :Exit

  # Records the requested forks.
  class Mold
    attr_reader :number, :forked, :sockets
    attr_accessor :alive, :rollout, :kill_reason

    def initialize(number)
      @number = number
      @alive = true
      @forked = []
      @sockets = []
    end

    def revision = "r#{number}"
    def live? = alive
    def ready? = alive
    def events = []
    def kill = self.alive = false
    def event_facts = { mold: number }

    def fork(node, socket, suspects:)
      sockets << socket
      forked << node
      suspects
    end
  end

  # How busy each slot is, is up to the test.
  class NodePool < Swarm::Nodes::NodePool
    attr_writer :loads

    def load(slot) = @loads[slot.id] || 0
  end

  # Records the calls.
  class MoldPool
    attr_reader :asked, :taken, :molds

    def initialize
      @asked = []
      @taken = []
      @molds = []
    end

    def start(rollout)
      molds << Mold.new(1)
      molds.last.rollout = rollout
      asked << [:start, molds.last]
      molds.last
    end

    def take_number = 1
    def prepare(mold) = asked << [:prepare, mold.number]
    def adopt(mold) = asked << [:adopt, mold.number]
    def retire(mold, in_use:) = asked << [:retire, mold.number, in_use]

    def take(number, pid, _pidfd, channel, rollout, from:)
      taken << channel
      asked << [:take, number, pid]
      from.revision # what the real one takes of it
      molds << Mold.new(number)
      molds.last.rollout = rollout
      molds.last
    end
  end

  # Of NodePool.
  class Supervisor
    def leader(_pid) = nil
    def booted = nil
    def node_exited = nil
    def mold_unused(_mold) = nil
    def kill_molds_later = nil
    def stop(reason:) = reason
    def finish = nil
  end

  attr_reader :old, :node_pool, :mold_pool, :loop, :events, :lifecycle, :published

  # loads: how busy each slot is. options: of the swarm.
  def initialize(*loads, **options)
    @loop = Skep::OS::EventLoop.new
    @events = Swarm::Runtime::EventBus.new
    @published = []
    @events.subscribe { |event| @published << event }
    @lifecycle = Swarm::Supervisor::Lifecycle.new
    @mold_pool = MoldPool.new
    @old = Mold.new(0)
    @pid = 100
    build(loads, { "nodes" => loads.size, "boot_concurrency" => 9, "refork_after" => 1,
                   **options.transform_keys(&:to_s) })
  end

  def to_h = { node_pool:, mold_pool:, loop:, events: }
  def slots = node_pool.slots

  # Lets all slots have ready nodes of the old mold.
  def boot
    node_pool.mold = old
    node_pool.start
    booting.each { |node| ready(node) }
    published.clear
    self
  end

  def booting = node_pool.node_table.nodes.select { |node| node.state == :booting }
  def stopping = node_pool.node_table.nodes.select { |node| node.state == :stopping }

  def forked(node)
    node_pool.node_forked(node.page_index, @pid += 1, nil)
    node
  end

  def ready(node)
    forked(node) unless node.pid
    node.slot.spare? ? node_pool.spare_ready(node) : node_pool.node_ready(node)
    node.node_memory = nil # it is never measured
    node
  end

  def ended(node, exit_status = 0, signal: nil)
    forked(node) unless node.pid
    exit = signal ? Exit.new(nil, signal) : Exit.new(exit_status)
    node_pool.node_exited(node.page_index, node.pid, exit)
  end

  # The successor that is booting is ready, and the node that it replaces ends.
  def replace_one
    node = ready(booting.first)
    stopping.each { |old| ended(old) }
    node
  end

  def names = published.map(&:name)

  def close
    node_pool.node_table.nodes.each { |node| node.ended(nil) }
    molds = [old, *mold_pool.molds]
    [loop, @page, *molds.flat_map(&:sockets)].each(&:close)
  end

  private

  def build(loads, options)
    config = Swarm::Definition::Config.new("s", options, tasks: [{}])
    layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 4 * (loads.size + 4), threads: 1)
    @page = Skep::OS::SharedPage.create(layout.total)
    @node_pool = NodePool.new(Supervisor.new, config, lifecycle, loop:, events:, page: @page,
                                                                 layout:)
    @node_pool.loads = loads
  end
end
