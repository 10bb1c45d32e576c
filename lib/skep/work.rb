# frozen_string_literal: true

require "skep/swarm"

# The work room: what nodes do. A source of work is any object that answers
#
#   errors                 # => [String]: what is wrong with it, found without network, sentences
#   facts                  # => Hash of plain data: what it is, for status and logs; no secrets
#   threads                # => Integer: worker threads it uses in a node
#   run(child, handler)    # on a node's main thread: calls child.ready!, feeds the handler,
#                          # returns at child.stopping?
#
# `swarm.work(source) { |…| … }` takes it.
# `require "skep/kafka"` brings the first: Skep::Kafka::Source.
#
# Work that has an end needs no swarm:
#
#   Skep.map(orders, nodes: 4) { |order| invoice(order) }    # => results, in order
module Skep
  module Work
  end
end

require "skep/work/stop"
require "skep/work/node_died"
require "skep/work/node_error"
require "skep/work/unmarshallable"
require "skep/work/at_item"
require "skep/work/map"

module Skep
  # Calls the block with each item, in forked nodes, and returns what it returned, in the items'
  # order. docs/map.md tells of the options; see Work::Map::Options. Raises what the block raises,
  # and NodeDied for an item that ended two nodes.
  #
  #: [T, R] (Enumerable[T] items, **untyped) { (T) -> R } -> Array[R]
  def self.map(items, **options, &block) = Work::Map.new(items, **options, &block).run

  # The same for what the block does rather than returns: gives the items back.
  #
  #: [T] (Enumerable[T] items, **untyped) { (T) -> void } -> Enumerable[T]
  def self.each(items, **options, &block) = map(items, **options, preserve_results: false, &block)

  # The block gets the item and its place.
  #
  #: [T] (Enumerable[T] items, **untyped) { (T, Integer) -> void } -> Enumerable[T]
  def self.each_with_index(items, **options, &block)
    each(items, **options, with_index: true, &block)
  end

  # The results are Arrays, put together into one.
  #
  #: [T, R] (Enumerable[T] items, **untyped) { (T) -> Array[R] } -> Array[R]
  def self.flat_map(items, **options, &block)
    Work::Map.new(items, **options, &block).run { |results| results.flatten(1) }
  end

  # The results that are neither nil nor false.
  #
  #: [T, R] (Enumerable[T] items, **untyped) { (T) -> R? } -> Array[R]
  def self.filter_map(items, **options, &block)
    Work::Map.new(items, **options, &block).run { |results| results.select(&:itself) }
  end
end
