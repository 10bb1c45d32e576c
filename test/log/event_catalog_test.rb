# frozen_string_literal: true

require "test_helper"
require "skep/log"

# docs/reference/events.md is API: it has every event that the code tells, and no other.
class EventCatalogTest < Skep::TestCase
  ROOT = File.expand_path("../..", __dir__)
  NAMES = Skep::Log::EventCatalog::NAMES
  # What is told, up to its first comma: `events.publish(:node_ready, node, …)`.
  TOLD = /\b(?:publish|event)\(\s*([^,()]*:"?[a-z][^,()]*)/
  CHANGES = %w[restart reload refork upgrade].product(%w[started finished failed refused])
                                             .map { |parts| parts.join("_") }
  private_constant :ROOT, :NAMES, :TOLD, :CHANGES

  test "are all in the table, once each" do
    page = File.read("#{ROOT}/docs/reference/events.md", encoding: "UTF-8")
    rows = page.scan(/^\| event \| level .*\n.*\n((?:\| .*\n)+)/).join.lines
    named = rows.flat_map { |row| row.split("|")[1].scan(/`(\w+)`/).flatten }
    assert_equal NAMES.sort, named.uniq.sort
    assert_equal %w[node_unhealthy], named.tally.select { |_, times| times > 1 }.keys
  end

  test "are told under no other name" do
    told = code.scan(TOLD).flatten.flat_map { |text| text.scan(/(?<![:\w]):(\w+)/) }.flatten.uniq
    assert_operator told.size, :>, 50
    assert_empty told - NAMES
  end

  test "are all told by some code" do
    untold = (NAMES - CHANGES).reject { |name| code.match?(/[:"]#{name}\b/) }
    assert_empty untold
    assert_match(/:"\#{name}_(?:started|finished|failed|refused)"/, code)
  end

  private

  def code
    files = Dir.glob("#{ROOT}/lib/skep/{swarm,kafka,control,log,systemd,metrics}{.rb,/**/*.rb}")
    files -= ["#{ROOT}/lib/skep/log/event_catalog.rb"]
    @code ||= files.flat_map { |file| File.readlines(file, encoding: "UTF-8") }
                   .grep_v(/^\s*#/).join
  end
end
