# frozen_string_literal: true

# Nodes that compute all the time, some frames deep, beside threads that wait. They count what they
# have done.
module Orders
  LINES = Array.new(20) { |number| { name: "line #{number}", price: number * 7 } }.freeze
  DEPTH = 25

  def self.total(lines) = lines.sum { |line| line[:price] * (line[:name].size % 5) }

  def self.nested(depth, &block)
    depth.zero? ? block.call : [depth].each { nested(depth - 1, &block) }
  end

  def self.work
    nested(DEPTH) { 50.times { total(LINES.map { |line| { **line, price: line[:price] + 1 } }) } }
  end
end

Skep.swarm "bench", nodes: Integer(ENV.fetch("BENCH_NODES")) do |swarm|
  swarm.work do |node|
    5.times { Thread.new { Queue.new.pop } }
    node.ready!
    until node.stopping?
      10.times { Orders.work }
      node.beat
      node.processed
    end
  end
end
