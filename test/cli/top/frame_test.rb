# frozen_string_literal: true

require "test_helper"
require "json"
require "skep/cli"
require "skep/cli/top"
require "skep/cli/top/parts"

# What `skep top` draws: a swarm's status and a size make lines.
class TopFrameTest < Skep::TestCase
  FRAME, PAINT, VIEW, METER, PANEL = %i[Frame Paint View Meter Panel].map do |name|
    Skep::CLI::Top.const_get(name)
  end
  Text = Skep::CLI::Text
  SIZES = [[24, 80], [50, 200], [10, 40], [6, 20], [3, 10], [1, 1]].freeze
  private_constant :SIZES

  test "shows a node in each line, and how it is" do
    lines = draw(view(node(0), node(1, "state" => "booting", "pid" => 43)))
    assert_includes lines, "> 0       42 ready     0.4s   12 ██▒▒▒▒▒▒▒▒▒▒▒   2.0M   8.0M     11 " \
                           "  1 SIGKILL"
    assert lines.any?(/\A  1       43 booting /)
  end

  test "begins with the swarm as a whole" do
    lines = draw(view(node(0), node(1)), columns: 100)
    assert_match(/\Abilling   running   up 1h 1m   2 ready   pid 7 /, lines.first)
    assert_includes lines, "cpu 25%   memory 4.0M of the nodes' own   3.0M of the supervisor   " \
                           "21 done/s   restarts 2"
  end

  test "never leaves its size, whatever it is told" do
    long = "注文\e[2J" * 40
    nodes = Array.new(30) { |id| node(id, "last_exit" => { "signal" => long }) }
    view = view(*nodes, "name" => long, "crash_loop" => true)
    view.add(Array.new(50) { { "time" => "2026-01-31T10:00:00", "event" => long, "node" => long } })
    view.trouble = view.message = long
    SIZES.each { |rows, columns| assert_fits(draw(view, rows:, columns:), rows, columns) }
    view.panel = PANEL.help
    SIZES.each { |rows, columns| assert_fits(draw(view, rows:, columns:), rows, columns) }
  end

  test "lets no name paint or move the cursor" do
    view = view(node(0, "state" => "\e[31mready"), "name" => "\e[2J\a")
    view.add([{ "time" => "\e]0;x\a", "event" => "a\nb", "level" => "warn", "topic" => "\e[H" }])
    drawn = FRAME.new(PAINT.new(colours: false)).lines(view, rows: 24, columns: 200).join
    refute_match(/[\e\a\n]/, drawn)
    assert_includes drawn, "^[[2J^G"
  end

  test "paints with colours only, and only where they are wanted" do
    painted = FRAME.new(PAINT.new(colours: true)).lines(view(node(0)), rows: 24, columns: 80).join
    assert_equal draw(view(node(0))).join, painted.gsub(/\e\[[\d;]*m/, "")
    assert_match(/\e\[32m/, painted)
  end

  test "goes with ASCII where the terminal has nothing else" do
    frame = FRAME.new(PAINT.new(colours: false, unicode: false))
    drawn = frame.lines(view(node(0), "name" => "注文"), rows: 24, columns: 80).join
    assert_predicate drawn, :ascii_only?
    assert_includes drawn, "#====="
  end

  test "leaves out what is least wanted where there is little room" do
    head = draw(view(node(0)), columns: 50).grep(/node /).first
    assert_equal %w[node state beat cpu% uss rate/s rst], head.split
    assert_equal %w[node pid state beat cpu% memory uss shared rate/s restarts last exit],
                 draw(view(node(0)), columns: 200).grep(/node /).first.split
  end

  test "has a column for lag where there is any" do
    lines = draw(view(node(0, "work" => { "lag" => 12 })))
    assert_includes lines.grep(/node /).first.split, "lag"
    assert_includes lines, "lag 12   restarts 1"
  end

  test "keeps the chosen node in sight" do
    view = view(*Array.new(100) { |id| node(id) })
    view.select(60)
    lines = draw(view)
    assert lines.any?(/\A> 60 /)
    assert lines.any?(/nodes \d+ to \d+ of 100/)
    view.select(1000)
    assert draw(view).any?(/\A> 99 /)
  end

  test "says in words what is wrong" do
    suspect = { "in_hand" => "orders/0@41", "crashes" => 3, "alone" => 2, "ends" => [] }
    lines = draw(view(node(0, "crash_loop" => true), node(1, "unhealthy" => "no database"),
                      "suspects" => [suspect] * 4), columns: 100)
    assert lines.any?(/\Acrash loop: node 0 died again and again/)
    assert lines.any?("suspect: orders/0@41 was in hand at 3 crashes, alone at 2")
    assert lines.any?("and 2 suspects more")
    assert lines.any?("unhealthy: node 1 says: no database")
  end

  test "shows the last events, but those of debugging" do
    view = view(node(0))
    view.add([{ "event" => "mold_booting", "level" => "debug" },
              { "time" => "2026-01-31T10:00:01.5Z", "event" => "node_died", "level" => "warn",
                "node" => 0, "signal" => "KILL" }])
    lines = draw(view)
    assert lines.any?("10:00:01 node_died          node=0 signal=KILL")
    refute lines.any?(/mold_booting/)
  end

  test "asks in its last line" do
    view = view(node(0))
    view.prompt = "renew node 0?"
    assert_equal "renew node 0? y/n", draw(view).last
  end

  test "draws a swarm that has no node yet" do
    assert_fits(draw(view), 24, 80)
  end

  test "prints as much as there is where there is no screen" do
    view = view(*Array.new(99) { |id| node(id) })
    lines = FRAME.new(PAINT.new(colours: false)).plain(view, columns: 160)
    assert_equal 99, lines.grep(/\A  \d+ .* ready/).size
  end

  private

  def assert_fits(lines, rows, columns)
    assert_operator lines.size, :<=, rows
    lines.each { |line| assert_operator Text.width(line), :<=, columns }
  end

  def draw(view, rows: 24, columns: 80)
    FRAME.new(PAINT.new(colours: false)).lines(view, rows:, columns:)
  end

  def view(*nodes, **facts)
    cpu, rate = [12.4, 10.5].map { |figure| nodes.to_h { |node| [node["id"], figure] } }
    figures = METER::Reading.new(cpu, rate, 3 << 20)
    VIEW.new(status: { "name" => "billing", "state" => "running", "uptime" => 3661.2, "pid" => 7,
                       "skep" => "1", "ruby" => "3", "suspects" => [], "nodes" => nodes,
                       **facts.transform_keys(&:to_s) }, figures:)
  end

  def node(id, facts = {})
    { "id" => id, "pid" => 42, "state" => "ready", "restarts" => 1, "crash_loop" => false,
      "last_exit" => { "signal" => "KILL" }, "beat_age" => 0.44, "unhealthy" => nil,
      "memory" => { "uss" => 2 << 20, "shared" => 8 << 20 }, "work" => { "done" => 3 }, **facts }
  end
end
