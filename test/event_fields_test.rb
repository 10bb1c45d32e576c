# frozen_string_literal: true

require "test_helper"

# The fields of events are API: docs/reference/events.md has those that the code gives by name.
class EventFieldsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  # They were renamed: `error` for human text, `hint` for advice, `duration`, `retry_in` and
  # `timeout_in` for times, `exit_status` and `phase` for ends.
  OLD = %w[message note cause seconds exitstatus].freeze
  COMMON = %w[level node mold pid swarm].freeze
  CALL = /\b(?:publish|event)\(\s*:(\w+)/
  private_constant :ROOT, :OLD, :COMMON, :CALL

  test "each field that the code gives to an event is in the event's row" do
    missing = calls.flat_map do |name, fields|
      row = rows.fetch(name, "")
      (fields - COMMON).reject { |field| row.match?(/`#{field}`/) || common?(field, row) }
                          .map { |field| "#{name}: #{field}" }
    end
    assert_operator calls.size, :>, 60
    assert_empty missing.uniq
  end

  test "no event has a field that was renamed" do
    old = calls.flat_map { |name, fields| (fields & OLD).map { |field| "#{name}: #{field}" } }
    assert_empty old
  end

  test "fields are found in calls of several lines, with nested calls and short forms" do
    source = "publish(:a, node, level: :warn,\n error: f(x: 1), hint:)\nevent(:b)"
    assert_equal [["a", %w[level error hint]], ["b", []]], calls_in(source)
  end

  private

  def files = Dir.glob("#{ROOT}/skep*/lib/skep/**/*.rb").sort

  def calls = @calls ||= files.flat_map { |file| calls_in(code(file)) }

  def code(file) = File.readlines(file, encoding: "UTF-8").grep_v(/^\s*#/).join

  # Returns the names of events, and the keyword arguments at the first level of each call.
  def calls_in(source)
    source.to_enum(:scan, CALL).map do
      match = Regexp.last_match
      [match[1], keywords(arguments(source, match.end(0)))]
    end
  end

  # Returns the text up to the parenthesis that closes the call, without nested brackets.
  def arguments(source, from)
    depth = 1
    source[from..].each_char.with_object(+"") do |char, text|
      depth += 1 if "([{".include?(char)
      depth -= 1 if ")]}".include?(char)
      return text if depth.zero?

      text << char if depth == 1
    end
  end

  def keywords(text) = text.scan(/(?:^|,)\s*(\w+):(?!:)/).flatten

  def rows
    @rows ||= page.lines.grep(/^\| `/).each_with_object({}) do |row, all|
      row.split("|")[1].scan(/`(\w+)`/).flatten.each { |name| all[name] = "#{all[name]}#{row}" }
    end
  end

  def page = File.read("#{ROOT}/docs/reference/events.md", encoding: "UTF-8")

  # Fields that the page describes by a reference to another row.
  def common?(field, row)
    row.include?("those of `handler_failed`") && rows["handler_failed"].include?("`#{field}`")
  end
end
