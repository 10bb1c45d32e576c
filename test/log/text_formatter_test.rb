# frozen_string_literal: true

require "test_helper"
require "skep/log"

class TextFormatterTest < Skep::TestCase
  TextFormatter = Skep::Log::TextFormatter

  test "shows where threads are under the event" do
    threads = [{ "name" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }]
    assert_equal "node_hung node=0\n  thread main (run)\n    a.rb:1",
                 TextFormatter.message("node_hung", { node: 0, threads: })
  end

  test "lets no thread of a work's own pass for another line" do
    threads = [{ "name" => "a\nb", "status" => "c\nd", "backtrace" => ["e\nf"] }]
    assert_equal "odd\n  thread a b (c d)\n    e f", TextFormatter.message("odd", { threads: })
  end

  test "shows a work's own fact of that name as any other" do
    assert_equal "odd threads=5 tasks=[1]", TextFormatter.message("odd", { threads: 5, tasks: [1] })
    assert_equal "odd tasks=null", TextFormatter.message("odd", { threads: [], tasks: nil })
  end
end
