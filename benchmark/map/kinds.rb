# frozen_string_literal: true

# The kinds of map: items, the work on each, and the check of the results.
#
#   kind = Kinds.load("integers", 50_000)
#   kind.right?(kind.items.map(&kind.work))   # => true
#   kind.units                                # => 50_000, the divisor of the time
module Kinds
  KILOBYTE, MEGABYTE = 1_000, 1_000_000
  WAIT = 0.010
  FIB = 20 # takes about a millisecond
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

    # Waits for a pipe that has no writer.
    def waits(count)
      reader, @writer = IO.pipe
      kind((1..count).to_a, ->(item) { IO.select([reader], nil, nil, WAIT) || item }, :itself)
    end

    def megabytes(count)
      kind((1..count).to_a, ->(item) { item.to_s * (MEGABYTE / item.to_s.size) }, :bytesize)
    end

    def fibs(count) = kind([FIB] * count, method(:fib), :itself)

    # Makes objects whose memory is mostly malloc's, as in a booted application. Their number varies
    # a little: the position of free slots in the heap decides how many pages a node copies. With
    # the same number, chance would favour the same version of skep in all rounds.
    def heap(count)
      count += Random.rand(count / 20)
      kept = Array.new(count) { |number| number.to_s.ljust(210, "x") }
      some = kind((1..FEW).to_a, ->(item) { item }, :itself)
      some.units = 1
      some.heap = kept
      some
    end

    private

    # Results are right if this message returns the same for them as for those of a plain map.
    def kind(items, work, message)
      expected = items.uniq.to_h { |item| [item, work.call(item).public_send(message)] }
      Kind.new(items, work, [message, expected.values_at(*items)], items.size)
    end

    def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)
  end
end
