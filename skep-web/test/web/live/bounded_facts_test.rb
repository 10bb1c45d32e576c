# frozen_string_literal: true

require "test_helper"
require "skep/web"

# Facts of a bounded size for the page.
class WebBoundedFactsTest < Skep::TestCase
  test "Hashes and Arrays keep their structure" do
    facts = { "a" => [1, 2.5, nil, true, { "b" => "c" }], "d" => {} }
    assert_equal facts, bounded.of(facts)
  end

  test "what is beyond the number of entries is counted" do
    assert_equal({ 0 => 0, 1 => 1, "…" => "8 more" }.transform_keys(&:to_s),
                 bounded(entries: 2).of((0...10).to_h { |number| [number, number] }))
    assert_equal [0, 1, "8 more"], bounded(entries: 2).of([*0...10])
    wide = Array.new(100) { Array.new(100) { "x" } }
    assert_operator JSON.generate(bounded(entries: 60).of(wide)).size, :<, 3000
  end

  test "a deep structure ends as text, and a long text is cut" do
    deep = (1..50).reduce(1) { |inner, _| { "a" => inner } }
    assert_operator JSON.generate(bounded.of(deep)).size, :<, 400
    assert_equal "#{"x" * 10}…", bounded(text: 10).of("x" * 99)
    assert_equal({ "#{"k" * 10}…" => 1 }, bounded(text: 10).of({ "k" * 99 => 1 }))
  end

  test "the result is JSON whatever the facts are" do
    odd = [Float::INFINITY, Float::NAN, 1e300, :symbol, nil, [[[[[[[Float::NAN]]]]]]]]
    assert JSON.parse(JSON.generate(bounded.of(odd)))
  end

  private

  def bounded(entries: 60, text: 200) = Skep::Web::Live::BoundedFacts.new(entries:, text:)
end
