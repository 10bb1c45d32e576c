# frozen_string_literal: true

require "skep/swarm"

# What a rolling update acts on, without processes: replacements wait until the test settles them.
class RolloutParts
  Swarm = Skep::Swarm
  private_constant :Swarm

  Mold = Struct.new(:number, :alive) do
    def live? = alive
    def event_facts = { mold: number }
  end

  Node = Struct.new(:mold, :slot, :asked_at, :unhealthy_reports, :channel, :socket, :pid) do
    def label = slot.label
    def live? = true
    def node_memory = nil
    def event_facts = { node: label }
    def retire_to_mold(_number, socket) = self.socket = socket
  end

  Slot = Struct.new(:id, :node, :retired, :load, :failure, :successor) do
    def label = id
    def helper? = id.nil?
    def live? = !node.nil?
    def retired? = retired ? true : false
  end

  Channel = Struct.new(:posted) do
    def post(type) = posted << type
  end

  Request = Struct.new(:slot, :reason, :mold, :on_retire, :done)

  # No node's memory is known.
  module MemoryMonitor
    def self.measure(_nodes) = nil
    def self.answered?(_node, since:) = since && true
  end

  # Settles replacements: `settle(true)` gives the slot a node of the mold that was asked for.
  class NodePool
    attr_accessor :mold, :stopping
    attr_reader :slots, :asked

    def initialize(slots, mold)
      @slots = slots
      @mold = mold
      @asked = []
      @replacing = {}.compare_by_identity
    end

    def all = slots
    def replacing?(slot) = @replacing.key?(slot)
    def when_replaced(slot, &block) = @replacing[slot] = block
    def cancel_replacement(slot, reason) = asked << Request.new(slot, reason, :cancelled)

    # Another replacement of the slot is in progress, until `replaced`.
    def replacing(slot) = @replacing[slot] = nil
    def replaced(slot) = @replacing.delete(slot)&.call
    def stopping? = stopping ? true : false
    def memory_monitor = MemoryMonitor
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

  # Notes what is asked of it.
  class MoldPool
    attr_reader :asked, :taken

    def initialize
      @asked = []
      @taken = []
    end

    def start(candidate:) = Mold.new(1, true).tap { |mold| asked << [:start, candidate, mold] }
    def take_number = 1
    def prepare(mold) = asked << [:prepare, mold.number]
    def adopt(mold) = asked << [:adopt, mold.number]
    def retire(mold, in_use:) = asked << [:retire, mold.number, in_use]

    def take(number, pid, _pidfd, channel)
      taken << channel
      Mold.new(number, true).tap { asked << [:take, number, pid] }
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
