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

  test "a hang begins with the line at which its thread was" do
    event = { "event" => "node_hung", "node" => 0, "beat_age" => 6.1 }
    threads = [{ "name" => "worker.1", "backtrace" => ["app.rb:9:in `lock'", "app.rb:3"] },
               { "backtrace" => ["other.rb:1"] }]
    assert_equal ["at=app.rb:9:in `lock'", "node=0", "beat_age=6.1"],
                 words({ **event, "threads" => threads })
    [nil, [], 5, [nil], [{ "backtrace" => [5] }]].each do |odd|
      assert_equal ["node=0", "beat_age=6.1"], words({ **event, "threads" => odd })
    end
  end

  test "facts without an error stay in their order" do
    assert_equal ["signal=KILL", 'ends=[1,"x"]', "at=a.rb:1"],
                 words({ "signal" => "KILL", "ends" => [1, "x"], "at" => "a.rb:1" })
  end

  private

  def words(...) = Skep::Control::EventText.words(...)
end
