# frozen_string_literal: true

require "test_helper"
require "skep/watch"

class WordingTest < Skep::TestCase
  Wording = Skep::Watch.const_get(:Wording)

  test "shows where threads are under the event" do
    threads = [{ "thread" => "main", "status" => "run", "backtrace" => ["a.rb:1"] }]
    assert_equal "node_hung node=0\n  thread main (run)\n    a.rb:1",
                 Wording.of("node_hung", { node: 0, threads: })
  end

  test "lets no thread of a work's own pass for another line" do
    threads = [{ "thread" => "a\nb", "status" => "c\nd", "backtrace" => ["e\nf"] }]
    assert_equal "odd\n  thread a b (c d)\n    e f", Wording.of("odd", { threads: })
  end

  test "shows a work's own fact of that name as any other" do
    assert_equal "odd threads=5 tasks=[1]", Wording.of("odd", { threads: 5, tasks: [1] })
    assert_equal "odd tasks=null", Wording.of("odd", { threads: [], tasks: nil })
  end
end
