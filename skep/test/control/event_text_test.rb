# frozen_string_literal: true

require "test_helper"
require "skep/control"

# The words of an event's line.
class EventTextTest < Skep::TestCase
  test "the place and the error come first, and what is shown elsewhere is left out" do
    event = { "v" => 1, "seq" => 3, "time" => "…", "level" => "error", "event" => "node_failed",
              "swarm" => "a", "node" => 0, "attempt" => 2, "error" => "KeyError: no",
              "at" => "app.rb:12", "backtrace" => ["app.rb:12"], "hint" => nil }
    assert_equal ["at=app.rb:12", "error=KeyError: no", "node=0", "attempt=2"], words(event)
    assert_equal ["at=app.rb:12", "error=KeyError: no", "attempt=2"], words(event, except: ["node"])
  end

  test "facts without an error stay in their order" do
    assert_equal ["signal=KILL", 'ends=[1,"x"]', "at=a.rb:1"],
                 words({ "signal" => "KILL", "ends" => [1, "x"], "at" => "a.rb:1" })
  end

  private

  def words(...) = Skep::Control::EventText.words(...)
end
