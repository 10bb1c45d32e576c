# frozen_string_literal: true

require "test_helper"
require "skep/plugin/kafka"
require "kafka/incidents/catalog"
require "kafka/incidents/history"
require "kafka/incidents/incident"
require "kafka/incidents/judgement"
require "kafka/incidents/table"

# What `rake incidents` counts as right. (Its swarms are real.)
class IncidentsTest < Skep::TestCase
  HANG = { "kind" => "no_progress", "subject" => "node 1", "level" => "warning",
           "text" => "its handler has made no progress with orders/0/1-9 at 3",
           "at" => "swarm.rb:7" }.freeze
  OTHER = { "kind" => "lag_unknown", "subject" => "group a", "level" => "warning", "text" => "x",
            "at" => nil }.freeze
  private_constant :HANG, :OTHER

  test "what is seen at each poll is one problem, and another one if it was gone" do
    history = Incidents::History.new
    [[1.0, [HANG]], [1.2, [HANG, OTHER]], [1.4, [OTHER]], [1.6, [HANG]]]
      .each { |time, problems| history.add(time, problems) }
    assert_equal [["no_progress", 1.0, 1.2, true], ["lag_unknown", 1.2, 1.4, true],
                  ["no_progress", 1.6, 1.6, false]],
                 history.spans.map { |one| [one.kind, one.first, one.last, one.over] }
  end

  test "an incident that is named by its cause in time, and gone in time, is right" do
    judgement = judge([10.5, [HANG]], [12.0, [HANG]], [12.2, []])
    assert_nil judgement.why_wrong
    assert_equal [0.5, true, 2.0], [judgement.named_after, judgement.cause?, judgement.gone_after]
  end

  test "one that is named late, by another cause or never is wrong" do
    assert_match(/named after 5\.1/, judge([15.1, [HANG]], [16.0, []]).why_wrong)
    assert_nil judge([15.1, [HANG]], [16.0, []], known_after: 1.0, gone_after: 1.0).why_wrong
    assert_match(/not by its cause/, judge([10.5, [{ **HANG, "at" => nil }]], [11, []]).why_wrong)
    assert_match(/not named/, judge([10.5, []]).why_wrong)
  end

  test "one that stays after its end is wrong, unless it is to stay" do
    assert_match(/gone after 5\.1/, judge([10.5, [HANG]], [15.1, [HANG]], [15.3, []]).why_wrong)
    assert_match(/still named/, judge([10.5, [HANG]]).why_wrong)
    assert_nil judge([10.5, [HANG]], stays: true).why_wrong
  end

  test "one that is gone before its end is wrong, unless the end comes by itself" do
    seen = [[10.5, [HANG]], [10.7, []]]
    assert_match(/gone 1\.5 s before its end/, judge(*seen, mended: 12.0).why_wrong)
    assert_nil judge(*seen, mended: 12.0, lasts: 0.0).why_wrong
  end

  test "the time until it is named is that until its cause is" do
    seen = [[10.5, [{ **HANG, "at" => nil }]], [15.4, [HANG]], [15.6, []]]
    assert_match(/named after 5\.4/, judge(*seen, gone_after: 2.0).why_wrong)
  end

  test "one that is away in between is wrong, unless that is in its nature" do
    seen = [[10.5, [HANG]], [10.7, []], [12.0, [HANG]], [12.2, []]]
    assert_match(/away for 1\.5 s/, judge(*seen).why_wrong)
    assert_nil judge(*seen, flickers: true).why_wrong
  end

  test "any other problem is false, unless it follows from the incident, and only for so long" do
    both = [[10.5, [HANG, OTHER]], [12.0, [HANG]], [12.2, []]]
    assert_match(/false: lag_unknown of group a/, judge(*both).why_wrong)
    assert_nil judge(*both, also: { "lag_unknown" => 0 }).why_wrong
    stays = [[10.5, [HANG, OTHER]], [15.5, [OTHER]], [15.7, []]]
    refute_nil judge(*stays, also: { "lag_unknown" => 0 }).why_wrong
    assert_nil judge(*stays, also: { "lag_unknown" => 6 }).why_wrong
    refute_nil judge([9.0, [OTHER]], *both, also: { "lag_unknown" => 0 }).why_wrong
    elsewhere = { **HANG, "subject" => "node 2" }
    assert_match(/false: no_progress of node 2/,
                 judge([10.5, [HANG, elsewhere]], [11, []]).why_wrong)
  end

  test "where nothing is to be named, each problem is false" do
    assert_nil judge([10.5, []], kind: nil, cause: {}).why_wrong
    refute_nil judge([10.5, [HANG]], [10.7, []], kind: nil, cause: {}).why_wrong
  end

  test "the exit code of `status --exit-status` counts" do
    seen = [[10.5, [HANG]], [10.7, []]]
    assert_nil judge(*seen, exit_statuses: [nil, nil]).why_wrong
    assert_equal "it said 0", judge(*seen, exit_statuses: [nil, "it said 0"]).why_wrong
  end

  test "a table is good if each row is right" do
    rows = [judge([10.5, [HANG]], [10.7, []]), judge([10.5, []])].map do |judgement|
      JSON.parse(JSON.generate(Incidents::Table.row(judgement)))
    end
    assert_predicate Incidents::Table.new(rows.first(1)), :good?
    refute_predicate Incidents::Table.new(rows), :good?
    refute_predicate Incidents::Table.new([]), :good?
    text = Incidents::Table.new(rows).to_s
    assert_match(/^hang +no_progress +0\.5 s +yes +0\.5 s +0  right$/, text)
    assert_match(/WRONG: not named\n1 of 2 right\z/, text)
  end

  test "each kind of problem has an incident" do
    named = Incidents.all.values.flat_map { |one| [one.kind, *one.also.keys] }.compact.uniq
    assert_empty Skep::Swarm::Diagnosis.kinds - named
    assert_equal %w[hang held], Incidents.named("hang+held").map(&:name)
    assert_raises(ArgumentError) { Incidents.named("hang+hold") }
  end

  private

  # The fault is planted at 10 s and taken away then.
  def judge(*seen, exit_statuses: [], mended: 10.0, **facts)
    incident = Incidents::Incident.new(name: "hang", kind: "no_progress",
                                       cause: { subject: "node 1", at: "swarm.rb:7" }, **facts)
    history = Incidents::History.new
    seen.each { |time, problems| history.add(time, problems) }
    Incidents::Judgement.new(incident, history, begun: 10.0, known: 10.0, mended:,
                                                ended: 10.0, exit_statuses:)
  end
end
