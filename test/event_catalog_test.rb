# frozen_string_literal: true

require "test_helper"
require "skep/log"
require "skep/plugin/kafka"

# docs/reference/events.md is API: it lists every event that skep publishes, and no other.
class EventCatalogTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  NAMES = Skep::Log::EventCatalog.names
  # The name in a call such as `events.publish(:node_ready, node, …)`, up to the first comma.
  PUBLISHED = /\b(?:publish|event)\(\s*([^,()]*:"?[a-z][^,()]*)/
  CHANGES = %w[restart reload refork].product(%w[started finished failed refused])
                                     .map { |parts| parts.join("_") }
  private_constant :ROOT, :NAMES, :PUBLISHED, :CHANGES

  test "docs/reference/events.md lists every event once, and only node_unhealthy twice" do
    page = File.read("#{ROOT}/docs/reference/events.md", encoding: "UTF-8")
    rows = page.scan(/^\| event \| level .*\n.*\n((?:\| .*\n)+)/).join.lines
    named = rows.flat_map { |row| row.split("|")[1].scan(/`(\w+)`/).flatten }
    assert_equal NAMES.sort, named.uniq.sort
    assert_equal %w[node_unhealthy], named.tally.select { |_, times| times > 1 }.keys
  end

  test "lib publishes no event under another name" do
    calls = code.scan(PUBLISHED).flatten
    published = calls.flat_map { |text| text.scan(/(?<![:\w]):(\w+)/) }.flatten.uniq
    assert_operator published.size, :>, 50
    assert_empty published - NAMES
  end

  test "lib publishes each name somewhere" do
    unpublished = (NAMES - CHANGES).reject { |name| code.match?(/[:"]#{name}\b/) }
    assert_empty unpublished
    assert_match(/:"\#{name}_(?:started|finished|failed|refused)"/, code)
  end

  private

  def code
    parts = "swarm,kafka,control,log,systemd,metrics,rails"
    files = Dir.glob("#{ROOT}/skep*/lib/skep/{#{parts}}{.rb,/**/*.rb}")
    files -= ["#{ROOT}/skep/lib/skep/log/event_catalog.rb"]
    @code ||= files.flat_map { |file| File.readlines(file, encoding: "UTF-8") }
                   .grep_v(/^\s*#/).join
  end
end
