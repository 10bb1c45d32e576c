# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/top"

class TopNodeTableTest < Skep::TestCase
  Layout = Skep::CLI::Top::ColumnLayout
  COLUMNS = [[4, 4, 0], [6, 20, 3], [5, 9, 2], [0, 0, 1]].map { |one| Layout::Column.new(*one) }
  private_constant :Layout, :COLUMNS

  test "columns share the room, those of the lowest rank first" do
    { 17 => [4, 6, 5, nil], 22 => [4, 7, 9, nil] }.each do |room, widths|
      assert_equal widths, Layout.widths(COLUMNS, room, gap: 1)
    end
  end

  test "columns of the highest rank are left out, and never the one of rank 0" do
    { 16 => [4, nil, 9, nil], 3 => [4, nil, nil, nil] }.each do |room, widths|
      assert_equal widths, Layout.widths(COLUMNS, room, gap: 1)
    end
  end
end
