# frozen_string_literal: true

# Prints the environment that makes a Ruby allocate the whole heap at its start, so that the page
# headers are adjacent. A mold gets it from its last run.
#
#   ruby slots.rb 4000000     # => {"RUBY_GC_HEAP_INIT_SLOTS":"4100000"}
#
# Source: ruby(1) of 3.1; Feature #19785 of Ruby 3.3, which takes it by slot size.

require_relative "program"

# The slots at the start of a Ruby. 3.1 aborts if the variable asks for fewer.
FEWEST = 10_000

measure do
  heap = Heap.new(Integer(ARGV.first))
  GC.start
  raise "no object is live" unless heap.size.positive?

  if RUBY_VERSION < "3.3"
    { "RUBY_GC_HEAP_INIT_SLOTS" => [GC.stat(:heap_live_slots), FEWEST].max.to_s }
  else
    GC.stat_heap.to_h do |pool, stat|
      ["RUBY_GC_HEAP_#{pool}_INIT_SLOTS", stat.fetch(:heap_eden_slots).to_s]
    end
  end
end
