# frozen_string_literal: true

# Counts views by page and minute. Whether a view is late depends only on earlier views of its
# partition, not on batches, so a repetition gives the same result.
#
#   windows = Windows.new(newest)          # of the views before these, milliseconds since 1970
#   windows.add("/bees", 1_700_000_012_500)
#   windows.rows                           # => [{ page:, minute:, views:, late: }]
#   windows.newest
class Windows
  MINUTE = 60_000
  PATIENCE = 30_000 # milliseconds that a view may come after newer ones

  attr_reader :newest

  def initialize(newest)
    @newest = newest
    @counts = Hash.new { |hash, window| hash[window] = { views: 0, late: 0 } }
  end

  def add(page, at)
    minute = at.div(MINUTE) * MINUTE
    over = minute + MINUTE <= newest - PATIENCE
    @counts[[page, minute]][over ? :late : :views] += 1
    @newest = [newest, at].max
  end

  def rows = @counts.map { |(page, minute), counts| { page:, minute:, **counts } }
end
