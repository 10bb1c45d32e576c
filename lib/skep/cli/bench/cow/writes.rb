# frozen_string_literal: true

# What a child of a warmed parent pays: for reading, for writing here and there, for allocating.
#
#   ruby writes.rb skep 1000000 1000
#
# Private memory is the child's USS: what it no longer shares with its parent.

require_relative "program"

way, objects, every = ARGV

measure do
  prepare = Preparation.load(way)
  heap = Heap.new(Integer(objects))
  prepare.call
  read = -> { seconds { heap.read } * 1e3 }
  write = -> { heap.write(Integer(every)) }
  allocate = -> { seconds { 1_000_000.times { |number| [number] } } * 1e3 }
  family = Family.new(1, [read, read, write, allocate])
  first, second = Array.new(2) { family.step.first }
  before = family.uss
  family.step
  after = family.uss
  allocation = family.step.first
  family.end
  { "private MiB" => after / MEBIBYTE, "of it by writing MiB" => (after - before) / MEBIBYTE,
    "first read ms" => first, "second read ms" => second, "allocate ms" => allocation }
end
