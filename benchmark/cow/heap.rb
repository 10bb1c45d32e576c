# frozen_string_literal: true

# Builds the heap of a booted application, the same each time: live objects of the usual kinds,
# buffers of many sizes, and between them the garbage of the boot.
#
#   heap = Heap.new(4_000_000)
#   heap.size                  # live objects made
#   heap.read                  # reads each of them
#   heap.write(1_000)          # sets an element of every 1,000th array
#
# It loads nothing of skep, because the peers are measured without skep.
class Heap
  # Objects that are made at a time and kept in one array.
  LOT = 1_000
  KINDS = 8
  ARRAYS = LOT / KINDS * 2 # of a lot

  Fields = Struct.new(:number, :name, :rest)

  # An object with instance variables: in its slot, or in a buffer if there are many.
  class Record
    def initialize(number, more)
      @number = number
      @state = :new
      @one = @two = @three = @four = number if more
    end

    def number = @number + @one.to_i
  end

  def initialize(size)
    @random = Random.new(42)
    @lots = Array.new(size.fdiv(LOT).ceil) { lot }
  end

  def size = @lots.size * LOT

  # Returns the sum of one number of each object.
  def read = @lots.sum { |lot| lot.sum { |object| look(object) } }

  # Writes to embedded arrays and arrays with a buffer in turn. Returns how many.
  def write(every)
    (0...@lots.size * ARRAYS).step(every).each_with_index.count do |array, turn|
      lot, place = array.divmod(ARRAYS)
      @lots[lot][place / 2 * KINDS + turn % 2][1] = 0
    end
  end

  private

  # Returns an array of live objects, made among as many that are dropped.
  def lot
    Array.new(LOT) do |index|
      live = object(index)
      index.even? ? scrap : [scrap.size, index.to_s]
      live
    end
  end

  def object(index)
    case index % KINDS
    when 0 then [index, nil, index]
    when 1 then Array.new(3 + @random.rand(12), index)
    when 2 then +"name #{index % 100}"
    when 3 then "v" * (30 + @random.rand(100))
    when 4 then { number: index, name: "name" }
    when 5 then Record.new(index, false)
    when 6 then Record.new(index, true)
    when 7 then Fields.new(index, :name, nil)
    end
  end

  # Garbage of a boot: source text, parsed configuration, buffers of templates.
  def scrap = "x" * (@random.rand(16).zero? ? @random.rand(4_000..12_000) : @random.rand(900))

  def look(object)
    case object
    when Array then object.first
    when String then object.getbyte(0)
    when Hash then object[:number]
    else object.number
    end
  end
end
