# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/top"
require "support/fakes"

# The parsing of keys in `skep top`, and what the keys do.
class TopKeysTest < Skep::TestCase
  Top = Skep::CLI::Top
  private_constant :Top

  test "escape sequences become keys" do
    assert_equal ["j", :up, :down, :page_down, :home, "q"],
                 Top::KeyParser.new.keys("j\e[A\eOB\e[6~\e[1~q")
    assert_equal [:down], Top::KeyParser.new.keys("\e[1;5P\e[B").compact
  end

  test "the beginning of a key waits for its rest, until it is flushed as an escape" do
    parser = Top::KeyParser.new
    assert_empty parser.keys("\e")
    assert_predicate parser, :incomplete?
    assert_equal [:up], parser.keys("[A")
    refute_predicate parser, :incomplete?
    assert_empty parser.keys("\e[")
    assert_equal [[:escape], []], [parser.flush, parser.flush]
  end

  test "any bytes are parsed to their end" do
    random = Random.new(7)
    100.times { Top::KeyParser.new.keys(random.bytes(200) + ("\e[" * 20)) }
    assert_equal ["x"], Top::KeyParser.new.keys("\e\e\ex").last(1)
  end

  test "a key that can't be undone acts only after y" do
    { "r" => ["restart", { node: 0 }], "R" => ["restart", {}], "s" => ["stop", {}],
      "Q" => ["quiet", {}], "-" => ["scale", { nodes: 1 }] }.each do |key, command|
      model, poller, bindings = bindings_for_two_nodes
      bindings.press(key)
      assert_match(/\?\z/, model.prompt)
      bindings.press("n")
      assert_equal [nil, []], [model.prompt, poller.commands]
      [key, "y"].each { |pressed| bindings.press(pressed) }
      assert_equal [command], poller.commands
    end
  end

  test "Q ends quiet in a quiet swarm, and a restart there says that the swarm stays quiet" do
    model, poller, bindings = bindings_for_two_nodes
    model.status["state"] = "quiet"
    %w[Q y].each { |pressed| bindings.press(pressed) }
    assert_equal [["resume", {}]], poller.commands
    poller.answer = { "done" => "restart", "quiet" => true }
    %w[R y].each { |pressed| bindings.press(pressed) }
    assert_equal "restart: done; the swarm stays quiet (Q ends that)", model.message
  end

  test "+ and b send their command at once; j selects the next node; q quits" do
    model, poller, bindings = bindings_for_two_nodes
    %w[+ + b].each { |key| bindings.press(key) }
    assert_equal [["scale", { nodes: 3 }], ["scale", { nodes: 4 }], ["backtraces", {}]],
                 poller.commands
    assert_equal "backtraces: done", model.message
    bindings.press("j")
    assert_equal 1, model.selected
    refute_predicate bindings, :quit?
    bindings.press("q")
    assert_predicate bindings, :quit?
  end

  test "+ counts the nodes of each work that is scaled" do
    model, poller, bindings = bindings_for_two_nodes
    model.status["scale"] = { "nodes" => 1, "works" => 2 }
    bindings.press("+")
    assert_equal [["scale", { nodes: 2 }]], poller.commands
  end

  test "+ and - scale the work of the selected node, where there are several" do
    model, poller, bindings = bindings_for_two_nodes
    name_works(model)
    %w[j + + - y].each { |key| bindings.press(key) }
    assert_equal [4, 5, 4].map { |nodes| ["scale", { nodes:, work: "orders" }] }, poller.commands
    assert_equal "scale orders to 4 nodes: done", model.message
    bindings.press("k")
    bindings.press("+")
    assert_equal ["scale", { nodes: 2, work: "web" }], poller.commands.last
  end

  test "a spare has no work to scale" do
    model, poller, bindings = bindings_for_two_nodes
    name_works(model)
    model.status["nodes"][0]["work_name"] = nil
    %w[+ -].each { |key| bindings.press(key) }
    assert_equal [[], nil, "select a node of the work that is to be scaled"],
                 [poller.commands, model.prompt, model.message]
  end

  test "backtraces that were asked for are shown, the selected node's first" do
    model, _, bindings = bindings_for_two_nodes
    bindings.observe([traces(0)])
    assert_nil model.pager
    %w[j b].each { |key| bindings.press(key) }
    bindings.observe([traces(0)])
    bindings.observe([traces(1)])
    assert_match(/node 1/, model.pager.lines(1).first)
    bindings.press("x")
    assert_nil model.pager
  end

  test "backtraces that arrive later are added, and leave the pager where it was scrolled to" do
    model, _, bindings = bindings_for_two_nodes
    bindings.press("b")
    bindings.observe([traces(1)])
    bindings.press("j")
    shown = model.pager.lines(1)
    [traces(2), traces(0)].each { |one| bindings.observe([one]) }
    assert_equal shown, model.pager.lines(1)
    bindings.press("g")
    nodes = model.pager.lines(100).filter_map { |line| line[/\Anode \d/] }
    assert_equal ["node 0", "node 1", "node 2"], nodes # that of node 0 first, as it is selected
  end

  private

  def name_works(model)
    model.status["works"] = [{ "name" => "web", "nodes" => 1 },
                             { "name" => "orders", "nodes" => 3 }]
    model.status["nodes"].zip(%w[web orders]) { |node, name| node["work_name"] = name }
  end

  def bindings_for_two_nodes
    nodes = Array.new(2) { |id| { "id" => id, "work" => {} } }
    model = Top::Model.new({ "name" => "a", "nodes" => nodes })
    poller = Fakes::TopPoller.new
    [model, poller, Top::KeyBindings.new(model, poller)]
  end

  def traces(node)
    { "event" => "node_backtraces", "node" => node, "pid" => 1,
      "threads" => [{ "name" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }] }
  end
end
