# frozen_string_literal: true

require "test_helper"
require "skep/cli"

class UITest < Skep::TestCase
  UI = Skep::CLI::UI
  private_constant :UI

  test "clean text spells out controls, escape sequences and marks of direction" do
    assert_equal "a^[[2Jb^J", UI.clean("a\e[2Jb\n")
    assert_equal "^?^@?8", UI.clean("\x7F\0\u202E8")
    assert_equal "?31m", UI.clean("\u009B31m")
    assert_equal "a?", UI.clean("a\u2028")
    assert_predicate UI.clean("\xFF\e"), :valid_encoding?
    assert_equal "3", UI.clean(3)
  end

  test "clean text keeps letters of any script" do
    ["orders", "注文", "Ünï", "имя", "ชื่อ"].each { |name| assert_equal name, UI.clean(name) }
  end

  test "wide characters count two columns, combining marks none" do
    { "abc" => 3, "注文" => 4, "e\u0301" => 1, "한국" => 4, "🐝" => 2, "é" => 1 }.each do |text, width|
      assert_equal width, UI::DisplayWidth.of(text), text
    end
  end

  test "a text that is too wide is cut before the character that would exceed the width" do
    assert_equal %w[abcd ab… …], [4, 3, 1].map { |room| UI::DisplayWidth.fit("abcd", room) }
    assert_equal ["注文注文", "注文…", "注…", "…", ""],
                 [8, 5, 4, 2, 0].map { |room| UI::DisplayWidth.fit("注文注文", room) }
  end

  test "a table aligns numbers to the right and shows nil as a dash" do
    text = UI::TextTable.new(%w[topic lag], [["orders", 1234], ["x", nil]]).to_s
    assert_equal "topic    lag\norders  1234\nx          -", text
  end

  test "a table shows cells clean and aligns them by their display width" do
    text = UI::TextTable.new(%w[topic lag], [["\e[2J", 1], ["注文", 20]]).to_s
    assert_equal "topic  lag\n^[[2J    1\n注文    20", text
  end

  test "a table's cells are styled after they are padded" do
    table = UI::TextTable.new(%w[a state], [["x", "up"]])
    styled = table.to_s { |cell, row, column| "<#{cell}#{row}#{column}>" }

    assert_equal "<a0>  <state1>\n<x00>  <up   01>", styled
  end

  test "a table with a maximum width shrinks its widest column and wraps its cells" do
    rows = [["breaks", "a thread that does not run in the child"], ["note", "x" * 30]]
    text = UI::TextTable.new(%w[severity what], rows).to_s(max_width: 30)

    assert_equal ["severity  what",
                  "breaks    a thread that does",
                  "          not run in the child",
                  "note      #{"x" * 20}",
                  "          #{"x" * 10}"], text.lines(chomp: true)
  end

  test "colours are used only on a terminal that has them, unless NO_COLOR is set" do
    terminal = Struct.new(:tty?)
    ansi = lambda do |tty, **env|
      UI::Ansi.for(terminal.new(tty), env: env.transform_keys(&:to_s))
    end
    styled = "\e[31;1mdead\e[0m"

    assert_equal styled, ansi.call(true, TERM: "xterm").style("dead", :red, :bold)
    assert_equal styled, ansi.call(true, NO_COLOR: "").style("dead", :red, :bold)
    [[true, { NO_COLOR: "1" }], [true, { TERM: "dumb" }], [false, {}]].each do |tty, env|
      assert_equal "dead", ansi.call(tty, **env).style("dead", :red, :bold)
    end
  end

  test "numbers are shown in a few characters" do
    { bytes: { 0 => "0.0M", 12_900_000 => "12.3M", 1_290_000_000 => "1.2G", nil => "-" },
      rate: { 0.5 => "0.5", 12.4 => "12", 123_456 => "123k", 1_500_000 => "1.5M", nil => "-" },
      duration: { 0.4 => "0s", 59 => "59s", 60 => "1m 0s", 93_784 => "1d 2h" } }
      .each do |kind, all|
      assert_equal all, all.to_h { |value, _| [value, UI::Humanize.public_send(kind, value)] }
    end
  end

  test "an exit is shown by its signal or status, and its reason" do
    { { "signal" => "KILL", "reason" => "oom" } => "SIGKILL oom", { "exit_status" => 3 } => "3",
      nil => "-" }.each do |last_exit, text|
      assert_equal text, UI::Humanize.exit_reason(last_exit)
    end
  end
end
