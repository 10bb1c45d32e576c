# frozen_string_literal: true

require "test_helper"
require "json"
require "skep/cli"
require "skep/cli/top"
require "support/fakes"

# The lines that `skep top` draws of a swarm's status and a size.
class TopRendererTest < Skep::TestCase
  Top = Skep::CLI::Top
  SIZES = [[24, 80], [50, 200], [10, 40], [6, 20], [3, 10], [1, 1]].freeze
  private_constant :Top, :SIZES

  test "each node has a row with its state" do
    lines = draw(model(node(0), node(1, "state" => "booting", "pid" => 43)))
    assert_includes lines, "> 0       42 ready     0.4s   12 ██▒▒▒▒▒▒▒▒▒▒▒   2.0M   8.0M     11 " \
                           "  1 SIGKILL"
    assert lines.any?(/\A  1       43 booting /)
  end

  test "the header has the swarm's state and totals" do
    lines = draw(model(node(0), node(1)), columns: 100)
    assert_match(/\Abilling   running   up 1h 1m   2 ready   pid \d+ /, lines.first)
    totals = %r{\Acpu 25%   nodes' memory 4\.0M   supervisor's \S+M   21 done/s   restarts 2\z}
    assert_match(totals, lines[1])
  end

  test "the lag is added up once for each status, not for each frame" do
    asked = 0
    count = lambda do |_status|
      asked += 1
      [17, nil]
    end
    Skep::Plugin.stub(:lag, count) do
      model = model(node(0))
      before = asked
      3.times { assert_includes draw(model, columns: 100)[1], "lag 17" }
      assert_equal before, asked
    end
  end

  test "no text makes the lines exceed their size" do
    long = "注文\e[2J" * 40
    nodes = Array.new(30) { |id| node(id, "last_exit" => { "signal" => long }) }
    model = model(*nodes, "name" => long, "crash_loop" => true)
    event = { "time" => "2026-01-31T10:00:00", "event" => long, "node" => long }
    model.add([event] * 50)
    model.problem = model.message = long
    SIZES.each { |rows, columns| assert_fits(draw(model, rows:, columns:), rows, columns) }
    model.pager = Top::Pager.help
    SIZES.each { |rows, columns| assert_fits(draw(model, rows:, columns:), rows, columns) }
  end

  test "an event begins with the line that failed and the error" do
    model = model(node(0))
    model.add([{ "time" => "2026-01-31T10:00:00", "event" => "node_failed", "node" => 0,
                 "at" => "app.rb:12", "error" => "KeyError: key not found: :id" }])
    line = draw(model, columns: 100).grep(/node_failed/).first
    assert_includes line, "at=app.rb:12 error=KeyError: key not found: :id node=0"
  end

  test "escape sequences in names and events are spelt out" do
    model = model(node(0, "state" => "\e[31mready"), "name" => "\e[2J\a")
    model.add([{ "time" => "\e]0;x\a", "event" => "a\nb", "level" => "warn", "topic" => "\e[H" }])
    drawn = draw(model, columns: 200).join
    refute_match(/[\e\a\n]/, drawn)
    assert_includes drawn, "^[[2J^G"
  end

  test "the lines with colours differ from those without by colours only" do
    one = model(node(0)) # it has this process' memory, which changes
    styled = Top::Renderer.new(Top::Styler.new(color: true)).lines(one, rows: 24, columns: 80).join
    assert_equal draw(one).join, styled.gsub(/\e\[[\d;]*m/, "")
    assert_match(/\e\[32m/, styled)
  end

  test "without Unicode all characters are ASCII" do
    renderer = Top::Renderer.new(Top::Styler.new(color: false, unicode: false))
    drawn = renderer.lines(model(node(0), "name" => "注文"), rows: 24, columns: 80).join
    assert_predicate drawn, :ascii_only?
    assert_includes drawn, "#====="
  end

  test "a narrow terminal leaves out the least important columns" do
    head = draw(model(node(0)), columns: 50).grep(/node /).first
    assert_equal %w[node state beat cpu% uss rate/s rst], head.split
    assert_equal %w[node pid state beat cpu% memory uss shared rate/s restarts last exit],
                 draw(model(node(0)), columns: 200).grep(/node /).first.split
  end

  test "there is a column for lag only if a node reports one" do
    lines = draw(model(node(0, "work" => { "lag" => 12 })), columns: 100)
    assert_includes lines.grep(/node /).first.split, "lag"
    refute_includes draw(model(node(0))).grep(/node /).first.split, "lag"
  end

  test "there is a column for the work where there are several" do
    nodes = [node(0, "work_name" => "web"), node(1, "work_name" => "orders-of-a-long-name"),
             node("spare 0", "work_name" => nil, "state" => "spare")]
    works = %w[web orders-of-a-long-name].map { |name| { "name" => name } }
    lines = draw(model(*nodes, "works" => works), columns: 100)
    assert_equal %w[node work pid state], lines.grep(/node /).first.split.first(4)
    assert lines.any?(/\A> 0 +web +42 ready/)
    assert lines.any?(/\A  1 +orders-of-a-long-na… +42 ready/)
    refute_includes draw(model(*nodes, "works" => works.first(1))).grep(/node /).first.split, "work"
  end

  test "the selected node is always among the rows" do
    model = model(*Array.new(100) { |id| node(id) })
    model.select(60)
    lines = draw(model)
    assert lines.any?(/\A> 60 /)
    assert lines.any?(/nodes \d+ to \d+ of 100/)
    model.select(1000)
    assert draw(model).any?(/\A> 99 /)
  end

  test "the first problems are lines of the header, with a remedy of the most urgent one" do
    facts = { "kind" => "crash_loop", "level" => "critical", "text" => "it keeps\e[2J crashing",
              "since" => 75.2, "at" => "app.rb:12", "doing" => "skep waits", "advice" => "Fix it" }
    problems = Array.new(5) { |id| { **facts, "subject" => "node #{id}" } }
    lines = draw(model(node(0), "problems" => problems), columns: 100)
    assert_equal ["! node 0, app.rb:12: it keeps^[[2J crashing, for 1m 15s",
                  "  skep waits. Fix it",
                  "! node 1, app.rb:12: it keeps^[[2J crashing, for 1m 15s",
                  "! node 2, app.rb:12: it keeps^[[2J crashing, for 1m 15s",
                  "and 2 more problems: skep status"], lines[1, 5].map(&:rstrip)
  end

  test "the most urgent problem is wrapped, in three lines at most" do
    problem = { "kind" => "hung", "level" => "critical", "subject" => "node 3", "since" => 5.0,
                "at" => "app/billing/invoice.rb:12", "doing" => "skep waits", "advice" => "Fix it" }
    { 12 => ["! node 3, app/billing/invoice.rb:12: #{"word " * 7}word",
             "  word word word word, for 5s"],
      90 => [/\A! node 3/, /\A  (?:word ){14}word\z/,
             /\A  (?:word )+w?o?r?…\z/] }.each do |words, lines|
      text = (["word"] * words).join(" ")
      drawn = draw(model(node(0), "problems" => [{ **problem, "text" => text }]))[1..]
      assert(lines.zip(drawn).all? { |wanted, line| wanted === line.rstrip }, drawn)
      assert_equal "  skep waits. Fix it", drawn[lines.size].rstrip
    end
  end

  test "nodes with a problem come first and are marked" do
    problem = { "kind" => "hung", "level" => "critical", "subject" => "node 2",
                "text" => "it hangs", "since" => 5.0, "node" => 2, "at" => nil,
                "doing" => "x", "advice" => "y" }
    asked = { **problem, "kind" => "quiet", "level" => "info", "node" => 0 }
    nodes = [node(0), node(1), node(2), node(3, "unhealthy" => "no database")]
    model = model(*nodes, "problems" => [problem, asked])
    assert_equal [">!2", " !3", "  0", "  1"], marks(model)
    model.select(2)
    assert_equal [" !2", " !3", "> 0"], marks(model).first(3)
  end

  test "the state is green only without problems other than what an operator has asked for" do
    colors = { [] => 32, %w[info] => 32, %w[warning info] => 33, %w[critical warning] => 31 }
    colors.each do |levels, color|
      problems = levels.map do |level|
        { "kind" => "quiet", "level" => level, "subject" => "swarm", "text" => "it is quiet",
          "since" => nil, "at" => nil, "doing" => "skep waits", "advice" => "Resume" }
      end
      lines = Top::Renderer.new(Top::Styler.new(color: true))
                           .lines(model(node(0), "problems" => problems), rows: 24, columns: 80)
      assert_includes lines.first, "\e[#{color}mrunning", levels
    end
  end

  test "the last events are shown, without those of level debug" do
    model = model(node(0))
    model.add([{ "event" => "mold_booting", "level" => "debug" },
               { "time" => "2026-01-31T10:00:01.5Z", "event" => "node_died", "level" => "warn",
                 "node" => 0, "signal" => "KILL" }])
    lines = draw(model)
    assert lines.any?("10:00:01 node_died              node=0 signal=KILL")
    refute lines.any?(/mold_booting/)
  end

  test "a gap is a line among the events" do
    model = model(node(0))
    model.add([{ "event" => "one" }, Skep::Control::EventGap.new(12, restarted: true),
               { "event" => "two" }])
    lines = draw(model, columns: 120).drop_while { |line| !line.start_with?("events (UTC)") }
    assert_equal ["one", "the supervisor was started anew, and keeps no events from before; " \
                         "12 events missing", "two"], lines[1, 3].map(&:strip)
  end

  test "a prompt is the last line" do
    model = model(node(0))
    model.prompt = "restart node 0?"
    assert_equal "restart node 0? y/n", draw(model).last
  end

  test "a swarm without nodes is drawn" do
    assert_fits(draw(model), 24, 80)
  end

  test "the plain output has a row for every node" do
    model = model(*Array.new(99) { |id| node(id) })
    lines = Top::Renderer.new(Top::Styler.new(color: false)).plain(model, columns: 160)
    assert_equal 99, lines.grep(/\A  \d+ .* ready/).size
  end

  private

  def assert_fits(lines, rows, columns)
    assert_operator lines.size, :<=, rows
    lines.each { |line| assert_operator Skep::CLI::UI::DisplayWidth.of(line), :<=, columns }
  end

  def marks(model) = draw(model).grep(/ 42 ready /).map { |line| line[0, 3] }

  def draw(model, rows: 24, columns: 80)
    Top::Renderer.new(Top::Styler.new(color: false)).lines(model, rows:, columns:)
  end

  def model(*nodes, **facts)
    status = { "name" => "billing", "state" => "running", "uptime" => 3661.2,
               "pid" => Process.pid, "skep" => "1", "ruby" => "3", "suspects" => [],
               "nodes" => nodes, **facts.transform_keys(&:to_s) }
    Top::Model.new(status, sampler: Fakes::ProcessSampler.new).tap do |model|
      model.update(status, Skep::OS.now, local: true)
    end
  end

  def node(id, facts = {})
    { "id" => id, "pid" => 42, "state" => "ready", "restarts" => 1, "crash_loop" => false,
      "last_exit" => { "signal" => "KILL" }, "beat_age" => 0.44, "unhealthy" => nil,
      "memory" => { "uss" => 2 << 20, "shared" => 8 << 20 }, "work" => { "done" => 3 }, **facts }
  end
end
