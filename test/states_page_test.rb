# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/states_page"

class StatesPageTest < Skep::TestCase
  test "docs/internals/states.md is what `rake states` writes" do
    assert_equal StatesPage.text, File.read(StatesPage::PATH, encoding: "UTF-8")
  end

  test "every transition leads to a state of the same table" do
    StatesPage.machines.each do |machine|
      table = machine::TRANSITIONS
      assert_empty table.values.flat_map(&:values) - table.keys, machine.name
    end
  end
end
