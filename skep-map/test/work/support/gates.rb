# frozen_string_literal: true

# Blocks each of so many nodes until all of them have arrived.
#
#   gates = Gates.new(3)
#   Skep.map([0, 1, 2], nodes: 3) { |place| gates.meet(place) }
#   gates.close
class Gates
  def initialize(count)
    @pipes = Array.new(count) { IO.pipe }
  end

  # Opens the gate of this number, then waits for all gates, and leaves them open.
  def meet(place)
    @pipes[place].last.write(".")
    @pipes.each do |reader, writer|
      reader.readpartial(1)
      writer.write(".")
    end
  end

  def close = @pipes.flatten.each(&:close)
end
