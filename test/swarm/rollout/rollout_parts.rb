# frozen_string_literal: true

require "skep/swarm"

# A pool of nodes, a pool of molds and an event bus for rollouts, without processes. Replacements
# wait until the test settles them.
class RolloutParts
  Swarm = Skep::Swarm
  private_constant :Swarm

  Mold = Struct.new(:number, :alive) do
    def live? = alive
    def event_facts = { mold: number }
  end

  Node = Struct.new(:mold, :slot, :asked_at, :unhealthy_reports, :channel, :socket, :pid,
                    :pidfd) do
    def label = slot.label
    def live? = true
    def ready? = true
    def node_memory = nil
    def event_facts = { node: label }
    def retire_to_mold(_number, socket) = self.socket = socket
  end

  Slot = Struct.new(:id, :node, :retired, :load, :failure, :successor, :waiting, :last_mold,
                    :last_exit, :last_reason, :undecided) do
    def label = id
    def mold = node&.mold
    def event_facts = { node: label }
    def waiting? = waiting ? true : false
    def undecided? = undecided ? true : false
    def helper? = id.nil?
    def live? = !node.nil?
    def retired? = retired ? true : false
  end

  Channel = Struct.new(:posted) do
    def post(type) = posted << type
  end

  Request = Struct.new(:slot, :reason, :mold, :on_retire, :done)

  # Remembers no crash.
  module CrashAttribution
    def self.forget = nil
  end

  # Knows no node's memory.
  module MemoryMonitor
    def self.measure(_nodes) = nil
    def self.answered?(_node, since:) = since && true
  end

  # `settle(true)` ends a replacement: the slot gets a node of the requested mold.
  class NodePool
    attr_accessor :mold, :stopping
    attr_reader :slots, :asked, :started

    def initialize(slots, mold)
      @slots = slots
      @mold = mold
      @asked = []
      @started = []
      @replacing = {}.compare_by_identity
    end

    def all = slots

    # The slot gets a node of this mold, or of the present one.
    def start_now(slot, mold: nil)
      return unless slot.waiting?

      started << slot.id
      slot.waiting = false
      slot.node = RolloutParts.node(mold || self.mold, slot)
    end

    def replacing?(slot) = @replacing.key?(slot)
    def when_replaced(slot, &block) = @replacing[slot] = block
    def cancel_replacement(slot, reason) = asked << Request.new(slot, reason, :cancelled)

    # Starts another replacement of the slot, which ends at `replaced`.
    def replacing(slot) = @replacing[slot] = nil
    def replaced(slot) = @replacing.delete(slot)&.call
    def stopping? = stopping ? true : false
    def memory_monitor = MemoryMonitor
    def crash_attribution = CrashAttribution
    def load(slot) = slot.load
    def node_table = self
    def of(mold) = slots.filter_map(&:node).select { |node| node.mold == mold }

    def replace(slot, reason, mold: nil, on_retire: nil, &done)
      asked << Request.new(slot, reason, mold, on_retire, done)
    end

    def settle(succeeded)
      request = asked.shift
      request.slot.node = RolloutParts.node(request.mold || mold, request.slot) if succeeded
      request.done&.call(succeeded)
    end
  end

  # Records the calls.
  class MoldPool
    attr_reader :asked, :taken, :molds

    def initialize
      @asked = []
      @taken = []
      @molds = []
    end

    def start(candidate:) = Mold.new(1, true).tap { |mold| asked << [:start, candidate, mold] }
    def take_number = 1
    def prepare(mold) = asked << [:prepare, mold.number]
    def adopt(mold) = asked << [:adopt, mold.number]
    def retire(mold, in_use:) = asked << [:retire, mold.number, in_use]

    def take(number, pid, _pidfd, channel)
      taken << channel
      asked << [:take, number, pid]
      molds << Mold.new(number, true)
      molds.last
    end
  end

  def self.node(mold, slot)
    Node.new(mold, slot, Skep::OS.now, Swarm::Health::UnhealthyReports.new, Channel.new([]))
  end

  attr_reader :old, :slots, :node_pool, :mold_pool, :loop, :events

  # loads: how busy each slot is.
  def initialize(*loads)
    @old = Mold.new(0, true)
    @slots = loads.each_with_index.map { |load, id| Slot.new(id, nil, false, load) }
    @slots.each { |slot| slot.node = RolloutParts.node(@old, slot) }
    @node_pool = NodePool.new(@slots, @old)
    @mold_pool = MoldPool.new
    @loop = Skep::OS::EventLoop.new
    @events = Swarm::Runtime::EventBus.new
  end

  def to_h = { node_pool:, mold_pool:, loop:, events: }
end
