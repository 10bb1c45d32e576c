# frozen_string_literal: true

# Lets so many nodes wait until all of them are at it.
#
#   gates = Gates.new(3)
#   Skep.map([0, 1, 2], nodes: 3) { |place| gates.meet(place) }
#   gates.close
class Gates
  def initialize(count)
    @pipes = Array.new(count) { IO.pipe }
  end

  # Opens that gate, and passes all, leaving them open.
  def meet(place)
    @pipes[place].last.write(".")
    @pipes.each do |reader, writer|
      reader.readpartial(1)
      writer.write(".")
    end
  end

  def close = @pipes.flatten.each(&:close)
end
