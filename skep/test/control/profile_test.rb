# frozen_string_literal: true

require "test_helper"
require "skep/control"

class ControlProfileTest < Skep::TestCase
  Control = Skep::Control
  APP = "/srv/app/order.rb"
  GEM = "/usr/lib/gems/json-2/parser.rb"
  FRAMES = [["Order#total", APP, 10], ["JSON.parse", GEM, 3], ["Integer#times", nil, nil],
            ["block in <main>", "/srv/swarm.rb", 1]].freeze
  private_constant :Control, :APP, :GEM, :FRAMES

  test "merges the nodes' stacks into the methods with the most time of their own" do
    top = profile.top("cpu", 10)
    assert_equal [["JSON.parse", GEM, 4, 5.0, 50.0], ["Order#total", APP, 12, 3.0, 30.0],
                  ["Integer#times", "/srv/swarm.rb", 2, 1.5, 15.0]],
                 (top.map { |row| row.values_at(:name, :file, :line, :seconds, :percent) })
    assert_equal ["Order#total", "Order#total", "block in <main>"],
                 (top.map { |row| row[:in][:name] })
    assert_equal [["Order#total", 100.0]],
                 (profile.top("wait", 10).map { |row| row.values_at(:name, :percent) })
    assert_empty profile.top("gvl", 10)
    assert_equal ["JSON.parse"], (profile.top("cpu", 1).map { |row| row[:name] })
  end

  test "time of stacks that had no room counts, without a method" do
    assert_in_delta 10.0, profile.seconds("cpu")
    assert_equal [5, 1, 30], [profile.dropped_stacks, profile.lost, profile.samples]
  end

  test "selects by work, node, thread and what the thread worked on" do
    assert_equal %w[orders web], profile.works
    assert_in_delta 7.0, profile.select(work: "orders").seconds("cpu")
    assert_in_delta 3.0, profile.select(node: 1).seconds("cpu")
    assert_in_delta 4.0, profile.select(thread: "worker.1").seconds("cpu")
    refunds = profile.select(label: { "topic" => "refunds" })
    assert_equal [["Order#total", 100.0]],
                 (refunds.top("cpu", 10).map { |row| row.values_at(:name, :percent) })
    assert_empty profile.select(work: "none").stacks
  end

  test "an answer of another shape is refused, whatever it is" do
    whole = answer
    bad = [nil, [], 3, {}, { **whole, "nodes" => [3] }, { **whole, "nodes" => [{ "work" => "a" }] },
           { **whole, "missing" => nil }, { **whole, "seconds" => "x" }]
    parts = [3, "x", { "stacks" => 3 }, { "stacks" => [[]] },
             { "stacks" => [["cpu", 0, 0, 1, ["x"], 1]] },
             { "stacks" => [["idle", 0, 0, 1, [0], 1]] }, { "frames" => [["a"]] },
             { "dropped" => { "cpu" => "x" } }, { "threads" => [3] }]
    bad += parts.map do |wrong|
      json = JSON.generate(wrong.is_a?(Hash) ? { **part([]), **wrong } : wrong)
      { **whole, "nodes" => [{ "node" => 0, "work" => "a", "profile" => json }] }
    end
    bad.each do |one|
      assert_raises(Control::InvalidAnswer, one.inspect) { Control::Profile.of(one) }
    end
  end

  test "numbers that name nothing are left out" do
    json = JSON.generate({ **part([["cpu", 7, 9, 1, [99, 0], 1.0]]) })
    nodes = [{ "node" => 0, "work" => nil, "pid" => 1, "profile" => json }]
    profile = Control::Profile.of({ **answer, "nodes" => nodes })
    assert_equal ["Order#total"], (profile.top("cpu", 10).map { |row| row[:name] })
  end

  test "speedscope's file has the outermost frame first, and a profile for each state" do
    file = JSON.parse(Control::Speedscope.of(profile))
    assert_equal "https://www.speedscope.app/file-format-schema.json", file["$schema"]
    cpu, wait = file["profiles"]
    assert_equal [["on a CPU", 9.5], ["waiting", 2.0]],
                 ([cpu, wait].map { |one| one.values_at("name", "endValue") })
    assert_equal cpu["samples"].size, cpu["weights"].size
    names = cpu["samples"].first.map { |number| file.dig("shared", "frames", number, "name") }
    assert_equal ["work orders", "topic orders", "node 0", "thread worker.1", "Order#total",
                  "JSON.parse"], names
    total = file.dig("shared", "frames").find { |frame| frame["name"] == "Order#total" }
    assert_equal({ "name" => "Order#total", "file" => APP, "line" => 10 }, total)
  end

  test "a state that takes less than can be shown is no percent of it" do
    idle = part([["gvl", 0, 0, 4, [1, 0], 0.0]])
    node = { "node" => 0, "work" => "orders", "pid" => 7, "profile" => JSON.generate(idle) }
    rows = Skep::Control::Profile.of({ **answer, "nodes" => [node] }).top("gvl", 5)
    assert_equal [0.0], rows.map { |row| row[:percent] }
  end

  private

  def profile = Control::Profile.of(answer)

  def answer
    first = part([["cpu", 0, 0, 4, [1, 0], 4.0], ["cpu", 1, 0, 5, [1, 0], 1.0],
                  ["cpu", 1, 0, 11, [0, 3], 0.5], ["cpu", 1, 1, 12, [0, 3], 1.0],
                  ["wait", 1, 0, 13, [0], 2.0]], "cpu" => 0.5)
    second = part([["cpu", 1, 2, 12, [0, 3], 1.5], ["cpu", 1, 2, 2, [2, 3], 1.5]], {})
    { "swarm" => "hive", "seconds" => 5,
      "nodes" => [
        { "node" => 0, "work" => "orders", "pid" => 7, "profile" => JSON.generate(first) },
        { "node" => 1, "work" => "web", "pid" => 8, "profile" => JSON.generate(second) }
      ],
      "missing" => [{ "node" => 2, "why" => "it ended meanwhile" }] }
  end

  def part(stacks, dropped = {})
    { "seconds" => 5.0, "cpu" => 5.0, "samples" => 15, "lost" => dropped.size, "sampler" => true,
      "threads" => %w[worker.1 main], "frames" => FRAMES, "stacks" => stacks,
      "labels" => [{ "topic" => "orders" }, { "topic" => "refunds" }, {}],
      "dropped" => dropped, "dropped_stacks" => 5 * dropped.size }
  end
end
