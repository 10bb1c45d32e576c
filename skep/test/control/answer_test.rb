# frozen_string_literal: true

require "test_helper"
require "skep/control"

class ControlAnswerTest < Skep::TestCase
  Answer = Skep::Control::Answer
  NODE = { "id" => 0, "pid" => 1, "state" => "ready", "restarts" => 0, "work" => {} }.freeze
  STATUS = { "name" => "a", "pid" => 1, "state" => "running", "skep" => "1", "ruby" => "3",
             "uptime" => 1.5, "nodes" => [NODE] }.freeze

  test "accepts the answers of a swarm" do
    [{ "done" => "stop" }, { "error" => "no" }, { "status" => STATUS },
     { "status" => { **STATUS, "nodes" => [] } }].each do |answer|
      assert_equal answer, Answer.parse(JSON.generate(answer))
    end
  end

  test "refuses an answer that no swarm sends" do
    ["null", "1", "[]", '"status"', "{", "", "[" * 100_000, '{"status":null}', '{"status":{}}',
     '{"status":[]}', '{"error":{}}', "\xFF\xFE", '{"v":"1"}'].each do |text|
      assert_raises(Skep::Control::InvalidAnswer) { Answer.parse(text) }
    end
  end

  test "refuses a status if any part has a wrong type" do
    wrong = [nil, -1, [], {}, Float::INFINITY, "x", [nil], 10**400, true]
    STATUS.each_key do |key|
      wrong.each { |value| refused_or_fits({ **STATUS, key => value }) }
    end
    %w[name state uptime nodes].each do |key|
      assert_raises(Skep::Control::InvalidAnswer) { parsed(STATUS.except(key)) }
    end
    %w[id state work].each do |key|
      wrong = { **STATUS, "nodes" => [NODE.except(key)] }
      assert_raises(Skep::Control::InvalidAnswer) { parsed(wrong) }
    end
    { "memory" => 1, "last_exit" => "x", "beat_age" => "x", "pid" => 0,
      "restarts" => 1e300 }.each do |key, value|
      wrong = { **STATUS, "nodes" => [{ **NODE, key => value }] }
      assert_raises(Skep::Control::InvalidAnswer, key) { parsed(wrong) }
    end
    assert_raises(Skep::Control::InvalidAnswer) { parsed({ **STATUS, "suspects" => [{}] }) }
  end

  test "refuses events with a wrong number, name or time" do
    event = { "seq" => 1, "event" => "node_died", "mono" => 1.5 }
    assert_equal event, Answer.event(JSON.generate(event))
    event.each_key do |key|
      text = JSON.generate({ **event, key => [] })
      assert_raises(Skep::Control::InvalidAnswer) { Answer.event(text) }
    end
    assert_equal({ "missed" => 3 }, Answer.event('{"missed":3}'))
  end

  private

  def parsed(status) = Answer.parse(Skep::Control.line(status:))

  # A status that is accepted can be formatted.
  def refused_or_fits(status)
    text = JSON.generate({ status: }, allow_nan: true)
    Answer.parse(text)["status"]["uptime"].round
  rescue Skep::Control::InvalidAnswer
    assert true
  end
end
