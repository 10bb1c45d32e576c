# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/top"
require "skep/cli/top/parts"

# What `skep top` is made of, each alone.
class TopPartsTest < Skep::TestCase
  KEYBOARD, METER, LAYOUT, ACTS, VIEW, FIGURES = %i[Keyboard Meter Layout Acts View Figures]
                                                 .map { |name| Skep::CLI::Top.const_get(name) }
  COLUMN = LAYOUT::Column

  # Who is told instead of a swarm.
  Wire = Struct.new(:told) do
    def tell(command, **facts, &answer)
      told << [command, facts]
      answer.call({ "done" => command })
    end
  end

  test "knows keys by the bytes they send" do
    assert_equal ["j", :up, :down, :page_down, :home, "q"],
                 KEYBOARD.new.keys("j\e[A\eOB\e[6~\e[1~q")
    assert_equal [:down], KEYBOARD.new.keys("\e[1;5P\e[B").compact
  end

  test "waits for the rest of a key, and for nothing behind a lone escape" do
    keyboard = KEYBOARD.new
    assert_empty keyboard.keys("\e")
    assert_predicate keyboard, :waits?
    assert_equal [:up], keyboard.keys("[A")
    refute_predicate keyboard, :waits?
    assert_empty keyboard.keys("\e[")
    assert_equal [[:escape], []], [keyboard.rest, keyboard.rest]
  end

  test "comes to an end with any bytes" do
    random = Random.new(7)
    100.times { KEYBOARD.new.keys(random.bytes(200) + ("\e[" * 20)) }
    assert_equal ["x"], KEYBOARD.new.keys("\e\e\ex").last(1)
  end

  test "columns share what room there is" do
    columns = [COLUMN.new(4, 4, 0), COLUMN.new(6, 20, 3), COLUMN.new(5, 9, 2), COLUMN.new(0, 0, 1)]
    assert_equal [4, 6, 5, nil], LAYOUT.widths(columns, 17, gap: 1)
    assert_equal [4, 7, 9, nil], LAYOUT.widths(columns, 22, gap: 1)
    assert_equal [4, nil, 9, nil], LAYOUT.widths(columns, 16, gap: 1)
    assert_equal [4, nil, nil, nil], LAYOUT.widths(columns, 3, gap: 1)
  end

  test "measures the processor's time of who runs, since the last look" do
    meter = METER.new
    assert_equal({ 0 => nil }, meter.take(status(Process.pid), 10.0, pids: true).cpu)
    1000.times { "busy".sum }
    assert_operator meter.take(status(Process.pid), 11.0, pids: true).cpu[0], :>=, 0
    assert_equal({ 0 => nil }, meter.take(status(nil), 12.0, pids: true).cpu.merge(0 => nil))
    assert_empty meter.take(status(Process.pid), 13.0, pids: false).cpu
  end

  test "takes rates from the work, or from what it has got done" do
    meter = METER.new
    rates = [[0, 0], [1, 10], [2, 30], [8, 90]].map do |at, done|
      meter.take(status(1, "done" => done), at.to_f, pids: false).rate[0]
    end
    assert_equal [nil, 10.0, 15.0, nil], rates
    assert_in_delta 2.5, meter.take(status(1, "rate" => 2.5), 9.0, pids: false).rate[0]
    assert_nil meter.take(status(1, "rate" => "many"), 9.0, pids: false).rate[0]
  end

  test "asks before it does what can't be undone" do
    { "r" => ["restart", { node: 0 }], "R" => ["restart", {}], "s" => ["stop", {}],
      "Q" => ["quiet", {}], "-" => ["scale", { nodes: 1 }] }.each do |key, told|
      view, wire, acts = acting
      acts.press(key)
      assert_match(/\?\z/, view.prompt)
      acts.press("n")
      assert_equal [nil, []], [view.prompt, wire.told]
      [key, "y"].each { |pressed| acts.press(pressed) }
      assert_equal [told], wire.told
    end
  end

  test "does the rest at once" do
    view, wire, acts = acting
    %w[+ + b].each { |key| acts.press(key) }
    assert_equal [["scale", { nodes: 3 }], ["scale", { nodes: 4 }], ["backtraces", {}]], wire.told
    assert_equal "backtraces: done", view.message
    acts.press("j")
    assert_equal 1, view.selected
    acts.press("q")
    assert_predicate acts, :left?
  end

  test "shows backtraces once they have come, the chosen node's first" do
    view, _, acts = acting
    acts.hear([traces(0)])
    assert_nil view.panel
    %w[j b].each { |key| acts.press(key) }
    acts.hear([traces(0)])
    acts.hear([traces(1)])
    assert_match(/node 1/, view.panel.lines(1).first)
    acts.press("x")
    assert_nil view.panel
  end

  test "tells figures in a few characters" do
    { bytes: { 0 => "0.0M", 12_900_000 => "12.3M", 1_290_000_000 => "1.2G", nil => "-" },
      rate: { 0.5 => "0.5", 12.4 => "12", 123_456 => "123k", 1_500_000 => "1.5M", nil => "-" },
      seconds: { 0.4 => "0s", 59 => "59s", 60 => "1m 0s", 93_784 => "1d 2h" } }.each do |kind, all|
      assert_equal all, all.to_h { |figure, _| [figure, FIGURES.public_send(kind, figure)] }
    end
  end

  private

  def acting
    nodes = [{ "id" => 0 }, { "id" => 1 }]
    view = VIEW.new(status: { "name" => "a", "nodes" => nodes }, figures: nil)
    wire = Wire.new([])
    [view, wire, ACTS.new(view, wire)]
  end

  def traces(node)
    { "event" => "node_backtraces", "node" => node, "pid" => 1,
      "threads" => [{ "thread" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }] }
  end

  def status(pid, work = {})
    { "pid" => Process.pid, "nodes" => [{ "id" => 0, "pid" => pid, "work" => work }] }
  end
end
