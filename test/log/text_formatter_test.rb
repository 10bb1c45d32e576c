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

  test "replaces line breaks in a thread's name, status and backtrace" do
    threads = [{ "name" => "a\nb", "status" => "c\nd", "backtrace" => ["e\nf"] }]
    assert_equal "odd\n  thread a b (c d)\n    e f", TextFormatter.message("odd", { threads: })
  end

  test "formats a work's own fact named threads or tasks as any other fact" do
    assert_equal "odd threads=5 tasks=[1]", TextFormatter.message("odd", { threads: 5, tasks: [1] })
    assert_equal "odd tasks=null", TextFormatter.message("odd", { threads: [], tasks: nil })
  end
end
