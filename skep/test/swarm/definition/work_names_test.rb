# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class WorkNamesTest < Skep::TestCase
  WorkNames = Skep::Swarm::Definition::WorkNames
  private_constant :WorkNames

  test "any text becomes a valid name" do
    texts = ["orders:eu", "-a", "", nil, "注文", "x" * 200]
    names = WorkNames.complete([nil] * texts.size, texts)
    assert_equal ["orders-eu", "a", "work", "work-2", "work-3", "x" * 90], names
    assert(names.all? { |name| Skep::Swarm::Definition::Config.valid_name?(name) })
  end

  test "given names are kept, and others give way" do
    assert_equal %w[a-2 a a-3], WorkNames.complete([nil, "a", nil], %w[a b a])
  end

  test "works are found by their names, whatever their order" do
    assert_equal [1, 0], order([named("web"), named("jobs")], [named("jobs"), named("web")])
    assert_nil order([named("web")], [named("www")])
    assert_nil order([named("web"), named("jobs")], [named("web")])
  end

  test "works that had no name are found by their group, else in their order" do
    billing, audit = unnamed("billing"), unnamed("audit")
    assert_equal [1, 0], order([billing, audit], [audit, billing])
    assert_equal [0, 1], order([billing, audit], [unnamed("invoices"), audit])
    assert_equal [1, 0], order([named("web"), unnamed("work")], [named("jobs"), named("web")])
  end

  private

  def named(name) = { "name" => name, "named" => true }
  def unnamed(name) = { "name" => name, "named" => false }
  def order(before, now) = WorkNames.order(before, now)
end
