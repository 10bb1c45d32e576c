# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class RecoveriesTest < Skep::TestCase
  Seat = Struct.new(:label, :node, :spare?, :helper?, keyword_init: true)
  Node = Struct.new(:seat, :kind_of_death, :retired?, keyword_init: true) do
    def label = seat.label
  end

  test "times a seat from the first end to the readiness of who can work at last" do
    recoveries.lost(holder(0), 10.0)
    recoveries.lost(holder(0, kind_of_death: "boot"), 10.5)
    recoveries.lost(holder(0), 11.0)
    recoveries.ready(holder(0), 12.0)
    recoveries.ready(holder(0), 13.0)
    assert_in_delta 2.0, recoveries.to_plain["sum"]
    assert_equal 1, recoveries.to_plain["count"]
  end

  test "takes a spare's word for how long it took" do
    recoveries.lost(holder(1), 10.0)
    recoveries.ready(holder(1), 12.0, took: 0.001)
    assert_equal [[0.001, 1]], recoveries.to_plain["buckets"]
  end

  test "times nothing where nothing that worked was lost" do
    seat = Seat.new(label: 0, node: :another)
    [holder(0, kind_of_death: "boot"), holder(0, retired: true),
     Node.new(seat:, kind_of_death: "work"),
     holder("helper", helper?: true), holder("spare 0", spare?: true)].each do |node|
      recoveries.lost(node, 10.0)
      recoveries.ready(node, 11.0)
    end
    assert_equal 0, recoveries.to_plain["count"]
  end

  test "forgets a seat that is given up" do
    recoveries.lost(holder(3), 10.0)
    recoveries.forget(holder(3).seat)
    recoveries.ready(holder(3), 99.0)
    assert_equal 0, recoveries.to_plain["count"]
  end

  test "is taken over by the supervisor's next program, with what is lost at that moment" do
    recoveries.lost(holder(0), 10.0)
    recoveries.ready(holder(0), 11.0)
    recoveries.lost(holder(1), 12.0)
    again = Skep::Swarm::Recoveries.new.recall(JSON.parse(JSON.generate(recoveries.keep)))
    again.ready(holder(1), 12.5)
    assert_equal [[0.5, 1], [1.0, 1]], again.to_plain["buckets"]
  end

  private

  def recoveries = @recoveries ||= Skep::Swarm::Recoveries.new

  def holder(label, kind_of_death: "work", retired: false, **kind)
    seat = Seat.new(label:, **kind)
    seat.node = Node.new(seat:, kind_of_death:, "retired?": retired)
  end
end
