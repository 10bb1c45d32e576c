# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/event_bus_page"

class EventBusPageTest < Skep::TestCase
  test "docs/internals/event_bus.md is what `rake event_bus` writes" do
    assert_equal EventBusPage.text, File.read(EventBusPage::PATH, encoding: "UTF-8")
  end

  test "each event that is subscribed to is published, and each announced one is subscribed to" do
    assert_empty EventBusPage.subscribed.keys - EventBusPage.published.keys
    announced = EventBusPage.sources.values.join.scan(/announce\(:(\w+)/).flatten.uniq
    refute_empty announced
    assert_empty announced - EventBusPage.subscribed.keys
  end
end
