# frozen_string_literal: true

require "test_helper"
require "json"
require "skep/cli"
require "skep/cli/top"
require "support/fakes"

# What `skep top` shows of consumer groups.
class KafkaTopTest < Skep::TestCase
  Top = Skep::CLI::Top
  private_constant :Top

  test "in 100 columns an event begins with the message that failed, the line and the error" do
    model = model({})
    model.add([{ "time" => "2026-01-31T10:00:00", "event" => "handler_failed", "node" => 0,
                 "mold" => 0, "pid" => 4_194_304, "topic" => "orders", "partition" => 3,
                 "offset" => 41, "last_offset" => 45, "at" => "app.rb:12",
                 "error" => "KeyError: key not found: :id", "retry_in" => 0.1 }])
    line = draw(model, columns: 100).grep(/handler_failed/).first
    assert_includes line, "orders/3@41-45 at=app.rb:12 error=KeyError: key not found: :id"
  end

  test "the header has the lag of all groups, and the node its own" do
    lines = draw(model("lag" => 12), columns: 100)
    assert lines.any?(/\Acpu .*   lag 12   restarts 1\z/)
    assert_includes lines.grep(/node /).first.split, "lag"
  end

  private

  def draw(model, rows: 24, columns: 80)
    Top::Renderer.new(Top::Styler.new(color: false)).lines(model, rows:, columns:)
  end

  def model(facts)
    work = { "kind" => "kafka", "group" => "g", "lag" => 0, "lag_unknown" => 0, "rate" => 1.0,
             "partitions" => [], **facts }
    node = { "id" => 0, "pid" => 42, "state" => "ready", "restarts" => 1, "work" => work }
    status = { "name" => "billing", "state" => "running", "uptime" => 1.0, "pid" => Process.pid,
               "skep" => "1", "ruby" => "3", "suspects" => [], "nodes" => [node] }
    Top::Model.new(status, sampler: Fakes::ProcessSampler.new).tap do |model|
      model.update(status, Skep::OS.now, local: true)
    end
  end
end
