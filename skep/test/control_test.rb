# frozen_string_literal: true

require "test_helper"
require "skep/control"

class ControlTest < Skep::TestCase
  # JSON has no infinity, but reads it from a number that is too large.
  test "a line is written whatever numbers a node has sent" do
    work = JSON.parse('{"rate":1e999,"totals":{"sent":3}}')
    line = Skep::Control.line(status: { state: :running, work: })
    assert_equal({ "v" => 1, "status" => { "state" => "running", "work" => {
                   "rate" => "Infinity", "totals" => { "sent" => 3 }
                 } } }, JSON.parse(line))
  end
end
