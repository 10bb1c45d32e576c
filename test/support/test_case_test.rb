# frozen_string_literal: true

require "test_helper"

# Skep::TestCase fails each test with one of these faults. Each body is the only test of a suite.
class TestCaseTest < Skep::TestCase
  HELPER = File.expand_path("../test_helper", __dir__)
  FAULTS = {
    "that asserts nothing" => ["", /asserts nothing/],
    "that leaves a child" => [%(spawn("sleep", "60"); pass), /left behind: child \d+ \(\(sleep\)/],
    "that leaves a descriptor" => ["$kept = IO.pipe; pass", /left behind: fd \d+ \(pipe/],
    "that leaves a thread of skep's" => [
      %(Thread.new { Queue.new.pop }.name = "skep.lost"; pass), /left behind: thread skep.lost/
    ],
    "that warns" => [%(warn("old", uplevel: 0); pass), /a warning: .*old/],
    "that gets no input" => ["IO.pipe { |r, _| wait_readable(r, 0.01) }", /nothing to read/],
    "whose program hangs" => [%(run_program("r, w = IO.pipe; r.read", timeout: 0.1)), /not over/]
  }.freeze
  private_constant :HELPER, :FAULTS

  FAULTS.each do |fault, (body, reason)|
    test "fails a test #{fault}" do
      out, _, status = suite_of(body)
      assert_match reason, out
      assert_equal 1, status.exitstatus
    end
  end

  # On a busy machine the test may still be in its setup.
  test "fails a test that hangs" do
    out, err, status = suite_of("IO.pipe { |reader, _| reader.read }", "def self.longest = 0.1")
    assert_match(/no end after 0.1 s/, out + err)
    assert_equal 1, status.exitstatus
  end

  test "reports the line where a test hangs" do
    out, _, status = suite_of(<<~BODY)
      HangWatch.over(0.1) { IO.pipe { |reader, _| reader.read } }
    BODY
    assert_match(/no end after 0.1 s.*one_test\.rb:4/m, out)
    assert_equal 1, status.exitstatus
  end

  test "passes a test that closes its descriptors and waits for its children" do
    out, err, status = suite_of(<<~RUBY)
      pid, reader = in_child { |writer| writer.write("up"); exit 3 }
      assert_equal "up", wait_readable(reader).read
      assert_equal 3, Process.wait2(pid).last.exitstatus
      IO.pipe.each(&:close)
    RUBY
    assert_equal ["", true], [err, status.success?]
    assert_match(/1 runs, 2 assertions, 0 failures, 0 errors/, out)
  end

  private

  def suite_of(body, more = "")
    run_program(<<~RUBY, gems: true)
      require #{HELPER.inspect}
      eval(<<~'SUITE', nil, File.join(#{__dir__.inspect}, "one_test.rb"), 1)
        class OneTest < Skep::TestCase
          #{more}
          test("is alone") do
            #{body}
          end
        end
      SUITE
    RUBY
  end
end
