# frozen_string_literal: true

# What there is to map: items, the work that each is, and whether results are right.
#
#   kind = Kinds.load("integers", 50_000)
#   kind.right?(kind.items.map(&kind.work))   # => true
#   kind.units                                # => 50_000, by what the time is divided
module Kinds
  KILOBYTE, MEGABYTE = 1_000, 1_000_000
  WAIT = 0.010
  FIB = 20 # a millisecond or so
  FEW = 10

  Kind = Struct.new(:items, :work, :expected, :units, :heap) do
    def right?(results) = results.map(&expected.first) == expected.last
  end

  class << self
    def load(name, count) = public_send(name, count)

    def integers(count) = kind((1..count).to_a, ->(item) { item }, :itself)

    def strings(count)
      strings = Array.new(count) { |number| number.to_s.ljust(KILOBYTE, "x") }
      kind(strings, ->(string) { string }, :itself)
    end

    # By a pipe to which nobody writes.
    def waits(count)
      reader, @writer = IO.pipe
      kind((1..count).to_a, ->(item) { IO.select([reader], nil, nil, WAIT) || item }, :itself)
    end

    def megabytes(count)
      kind((1..count).to_a, ->(item) { item.to_s * (MEGABYTE / item.to_s.size) }, :bytesize)
    end

    def fibs(count) = kind([FIB] * count, method(:fib), :itself)

    # So many objects, most of whose memory is malloc's, as in a program that has loaded things.
    def heap(count)
      kept = Array.new(count) { |number| number.to_s.ljust(210, "x") }
      some = kind((1..FEW).to_a, ->(item) { item }, :itself)
      some.units = 1
      some.heap = kept
      some
    end

    private

    # Results are right when they give the same by that message as those of a plain map.
    def kind(items, work, message)
      expected = items.uniq.to_h { |item| [item, work.call(item).public_send(message)] }
      Kind.new(items, work, [message, expected.values_at(*items)], items.size)
    end

    def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)
  end
end
