# frozen_string_literal: true

require "test_helper"
require "skep/swarm/diagnosis"
require "skep/plugin"

# Each kind of problem is in the reference, in the runbook, and in an alert if it is more than info.
class DocsProblemsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  KINDS = begin
    Skep::Plugin.all
    Skep::Swarm::Diagnosis.kinds.sort
  end
  ROW = /^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$/
  ASKED_FOR = /\Ainfo\z/ # the level of what someone has asked for
  private_constant :ROOT, :KINDS, :ROW, :ASKED_FOR

  test "docs/reference/status.md lists exactly the kinds of problems of skep and its plugins" do
    assert_equal KINDS, rows.map(&:first).sort
  end

  test "troubleshooting has a paragraph for each kind of problem, and for nothing else" do
    parts = section("guides/troubleshooting.md", "## What is wrong").split(/^### /).drop(1)
    entries = parts.to_h { |part| part.split("\n", 2).map(&:strip) }
    assert_equal KINDS, entries.keys.sort
    assert_equal parts.size, entries.size
    entries.each { |kind, text| assert_operator text.scan(/[.!?)](?:\s|\z)/).size, :>=, 2, kind }
  end

  test "each kind that is more than info is in exactly one alert, and alerts name no other kind" do
    alerts = section("reference/metrics.md", "## Alerts").scan(/skep_problem\{kind=~?"([^"]+)"/)
    named = alerts.flatten.flat_map { |kinds| kinds.split("|") }
    assert_equal named.uniq, named
    assert_empty named - KINDS
    grave = rows.reject { |_, level| level.match?(ASKED_FOR) }.map(&:first)
    assert_empty grave - named
  end

  private

  def rows = section("reference/status.md", "### Kinds").scan(ROW)

  # Returns the text below a heading, up to the next one of its level.
  def section(path, heading)
    text = File.read("#{ROOT}/docs/#{path}", encoding: "UTF-8")
    text.split(/^#{heading}\n/, 2).last.split(/^#{heading[/\A#+ /]}/, 2).first
  end
end
