# frozen_string_literal: true

require "test_helper"
require "skep/log"

class TextFormatterTest < Skep::TestCase
  TextFormatter = Skep::Log::TextFormatter

  test "writes backtraces of threads below the event" do
    threads = [{ "name" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }]
    assert_equal "node_hung node=0\n  thread main (run)\n    a.rb:1",
                 TextFormatter.message("node_hung", { node: 0, threads: })
  end

  test "writes that a hung node sent no backtraces, unless it is stopped" do
    tasks = [{ tid: 7 }]
    assert_equal "node_hung node=0\n  no backtraces: the node didn't answer in time, " \
                 "so C code may hold the GVL\n  task tid=7",
                 TextFormatter.message("node_hung", { node: 0, tasks: })
    assert_equal "node_hung state=stopped", TextFormatter.message("node_hung", { state: "stopped" })
  end

  test "writes an error's backtrace below the event, a line each" do
    assert_equal "odd at=a.rb:1\n    a.rb:1:in `x'\n    b.rb:2 c",
                 TextFormatter.message("odd",
                                       { at: "a.rb:1", backtrace: ["a.rb:1:in `x'", "b.rb:2\nc"] })
    assert_equal "odd backtrace=b.rb:2", TextFormatter.message("odd", { backtrace: "b.rb:2" })
  end

  test "an event of the control socket is formatted as it is in the log" do
    time = Time.utc(2026, 1, 31, 10, 0, 0.5r)
    facts = { swarm: "a", node: 0, error: "a b", tasks: [{ tid: 7, stack: ["futex_wait"] }],
              threads: [{ "name" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }] }
    head = { v: 1, seq: 3, time: time.iso8601(6), mono: 1.5, level: :warn, event: "node_hung" }
    event = JSON.parse(JSON.generate({ **head, **facts }))
    assert_equal TextFormatter.format(time, "node_hung", :warn, facts), TextFormatter.of_json(event)
  end

  # Two backslashes below are one in the text.
  {
    "plain" => "plain", "two words" => '"two words"', "a=b" => '"a=b"', "" => '""',
    %(no "id") => %('no "id"'), %({"a": 1}) => %('{"a": 1}'), "can't" => %("can't"),
    %(at '{"a"') => "`at '{\"a\"'`", "C:\\x" => "'C:\\x'",
    { held: { "orders" => [0, 1] } } => '{"held":{"orders":[0,1]}}',
    { a: "b c" } => %('{"a":"b c"}'), { a: "it's" } => %(`{"a":"it's"}`),
    nil => "null", 1.5 => "1.5",
    %(all '"`) => %("all '\\"`"), %(a "b"\nERROR forged) => %("a \\"b\\"\\nERROR forged"),
    "\e[2Jx" => '"\u001b[2Jx"', %('x" error="y) => "`'x\" error=\"y`"
  }.each do |value, text|
    test "writes #{value.inspect} as #{text}" do
      assert_equal "odd fact=#{text}", TextFormatter.message("odd", { fact: value })
    end
  end

  test "any text is one word that ends where its quote does, and one line" do
    random = Random.new(32)
    pieces = ['"', "'", "`", "\\", " ", "=", "a", "\n", "\u2028", "{"]
    2_000.times do
      text = Array.new(random.rand(8)) { pieces.sample(random:) }.join
      word = TextFormatter.message("odd", { fact: text }).delete_prefix("odd fact=")
      assert_equal text, read(word), word
      refute_match(/[\n\u2028]/, word)
    end
  end

  test "replaces line breaks in a thread's name, status and backtrace" do
    threads = [{ "name" => "a\nb", "status" => "c\nd", "backtrace" => ["e\nf"] }]
    assert_equal "odd\n  thread a b (c d)\n    e f", TextFormatter.message("odd", { threads: })
    assert_equal "odd\n    a.rb:1:in `\\u001b[2J'",
                 TextFormatter.message("odd", { backtrace: ["a.rb:1:in `\e[2J'"] })
  end

  test "formats a work's own fact named threads or tasks as any other fact" do
    assert_equal "odd threads=5 tasks=[1]", TextFormatter.message("odd", { threads: 5, tasks: [1] })
    assert_equal "odd tasks=null", TextFormatter.message("odd", { threads: [], tasks: nil })
  end

  private

  # Returns the text that a word stands for, as a reader of the log would find it.
  def read(word)
    case word[0]
    when "'", "`" then word[1..-2].tap { |text| refute_includes text, word[0] }
    when '"'
      text = word.include?("\\") ? JSON.parse(word) : word[1..-2]
      refute_includes text, '"' unless word.include?("\\")
      text
    else word.tap { assert_match(/\A[^\s"'`=]+\z/, word) }
    end
  end
end
