# frozen_string_literal: true

# The cost of a child of a warmed parent: for reads, for scattered writes, for allocations.
#
#   ruby writes.rb skep 1000000 1000
#
# Private memory is the child's USS. The figures are medians of several children, one after the
# other. Each child reads memory that it has not read before.

require_relative "program"

CHILDREN = 5

way, objects, every = ARGV

# Returns the figures of one child.
def child_of(heap, every)
  read = -> { seconds { heap.read } * 1e3 }
  allocate = -> { seconds { 1_000_000.times { |number| [number] } } * 1e3 }
  family = Family.new(1, [read, read, -> { heap.write(every) }, allocate])
  first, second = Array.new(2) { family.step.first }
  before = family.uss
  family.step
  [family.uss / MEBIBYTE, (family.uss - before) / MEBIBYTE, first, second, family.step.first]
ensure
  family&.end
end

measure do
  prepare = Preparation.load(way)
  heap = Heap.new(Integer(objects))
  prepare.call
  figures = Array.new(CHILDREN) { child_of(heap, Integer(every)) }
  medians = figures.transpose.map { |some| some.sort[CHILDREN / 2] }
  ["private MiB", "of it by writing MiB", "first read ms", "second read ms", "allocate ms"]
    .zip(medians).to_h
end
