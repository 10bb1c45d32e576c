# frozen_string_literal: true

require "test_helper"
require "skep/cli"
require "skep/cli/columns"

class TextTest < Skep::TestCase
  Text = Skep::CLI::Text

  test "shows what would move a cursor, paint or turn a line round" do
    assert_equal "a^[[2Jb^J", Text.clean("a\e[2Jb\n")
    assert_equal "^?^@?8", Text.clean("\x7F\0\u202E8")
    assert_equal "?31m", Text.clean("\u009B31m")
    assert_equal "a\u2028".size, Text.clean("a\u2028").size
    refute_match(/\u2028/, Text.clean("a\u2028"))
    assert_predicate Text.clean("\xFF\e"), :valid_encoding?
    assert_equal "3", Text.clean(3)
  end

  test "leaves what is plain, in any script" do
    ["orders", "注文", "Ünï", "имя", "ชื่อ"].each { |name| assert_equal name, Text.clean(name) }
  end

  test "knows how wide a terminal shows it" do
    { "abc" => 3, "注文" => 4, "e\u0301" => 1, "한국" => 4, "🐝" => 2, "é" => 1 }.each do |text, width|
      assert_equal width, Text.width(text), text
    end
  end

  test "fits text into columns, and half a wide character into none" do
    assert_equal %w[abcd ab… …], [4, 3, 1].map { |room| Text.fit("abcd", room) }
    assert_equal ["注文注文", "注文…", "注…", "…", ""],
                 [8, 5, 4, 2, 0].map { |room| Text.fit("注文注文", room) }
  end

  test "a table shows a topic's name as it is spelt" do
    text = Skep::CLI::Columns.new(%w[topic lag], [["\e[2J", 1], ["注文", 20]]).to_s
    assert_equal "topic  lag\n^[[2J    1\n注文    20", text
  end
end
