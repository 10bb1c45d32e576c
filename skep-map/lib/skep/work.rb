# frozen_string_literal: true

require "skep/error_place"
require "skep/swarm"

# What nodes do. A source of work is any object with these methods:
#
#   errors                 # => [String]: mistakes in its options, found without a network
#   facts                  # => Hash of plain data for status and logs; no secrets
#   threads                # => Integer: how many worker threads it uses in a node
#   run(node, handler)    # on a node's main thread: calls node.ready!, then the handler for each
#                          # piece of work; returns when node.stopping? is true
#
# `swarm.work(source) { |…| … }` takes it. Other gems add sources.
#
# Work that has an end needs no swarm:
#
#   Skep.map(orders, nodes: 4) { |order| invoice(order) }    # => results, in order
module Skep
  module Work
  end

  ErrorPlace.add(File.expand_path("..", __dir__))
end

require "skep/work/errors"
require "skep/work/map"

module Skep
  # Calls the block with each item, in forked nodes, and returns the results in the items' order.
  # For the options see Work::Map::Options and docs/reference/map.md. Raises what the block raises,
  # and NodeDied for an item that has killed two nodes.
  def self.map(items, **options, &block) = Work::Map.new(items, **options, &block).run

  # Calls the block with each item, in forked nodes, and returns the items.
  def self.each(items, **options, &block)
    Work::Map.new(items, **options, preserve_results: false, &block).run
  end

  # Calls the block with each item and its index, in forked nodes, and returns the items.
  def self.each_with_index(items, **options, &block)
    each(items, **options, with_index: true, &block)
  end

  # Maps as Skep.map does and concatenates the results, which are Arrays.
  def self.flat_map(items, **options, &block)
    Work::Map.new(items, **options, &block).run { |results| results.flatten(1) }
  end

  # Maps as Skep.map does and drops the results that are nil or false.
  def self.filter_map(items, **options, &block)
    Work::Map.new(items, **options, &block).run { |results| results.select(&:itself) }
  end
end
