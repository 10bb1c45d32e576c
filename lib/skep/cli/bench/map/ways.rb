# frozen_string_literal: true

# The ways to map in two processes, and the one without any.
#
#   way = Ways.load("skep")
#   way.prepare                     # what a program does once its heap is there
#   way.map([1, 2], ->(item) { item + 1 })     # => [2, 3]
module Ways
  PROCESSES = 2

  # No process: the limit of what spreading can cost.
  module Plain
    def self.prepare = nil
    def self.map(items, work) = items.map(&work)
  end

  # The gem.
  module InParallel
    def self.prepare = nil
    def self.map(items, work) = Parallel.map(items, in_processes: PROCESSES, &work)
  end

  # Ours.
  module InNodes
    def self.prepare = nil
    def self.map(items, work) = Skep.map(items, nodes: PROCESSES, &work)
  end

  # Ours, the heap made cheap to fork.
  module Warmed
    def self.prepare = Skep.warmup
    def self.map(items, work) = InNodes.map(items, work)
  end

  # One fork and its end, of which no map into a process can have less: the limit.
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
