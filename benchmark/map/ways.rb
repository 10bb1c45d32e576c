# frozen_string_literal: true

# The ways to map in two processes, and the one without a process.
#
#   way = Ways.load("skep")
#   way.prepare                     # called once the heap is built
#   way.map([1, 2], ->(item) { item + 1 })     # => [2, 3]
module Ways
  PROCESSES = 2

  # Without processes: the upper limit of the cost.
  module Plain
    def self.prepare = nil
    def self.map(items, work) = items.map(&work)
  end

  # The gem parallel.
  module InParallel
    def self.prepare = nil
    def self.map(items, work) = Parallel.map(items, in_processes: PROCESSES, &work)
  end

  # Skep.map.
  module InNodes
    def self.prepare = nil
    def self.map(items, work) = Skep.map(items, nodes: PROCESSES, &work)
  end

  # Skep.map with a heap that is cheap to fork.
  module Warmed
    def self.prepare = Skep.warmup
    def self.map(items, work) = InNodes.map(items, work)
  end

  # One fork and its end: the lower limit of each map in a process.
  module OneFork
    def self.prepare = nil

    def self.map(items, work)
      Process.wait(fork { exit!(true) })
      items.map(&work)
    end
  end

  KNOWN = { "plain" => [Plain, nil], "fork" => [OneFork, nil],
            "parallel" => [InParallel, "parallel"], "skep" => [InNodes, "skep/work"],
            "warmed" => [Warmed, "skep/work"] }.freeze

  def self.load(name)
    way, feature = KNOWN.fetch(name)
    require feature if feature
    way
  end
end
