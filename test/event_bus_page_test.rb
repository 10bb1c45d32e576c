# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/event_bus_page"

class EventBusPageTest < Skep::TestCase
  test "docs/internals/event_bus.md is what `rake event_bus` writes" do
    assert_equal EventBusPage.text, File.read(EventBusPage::PATH, encoding: "UTF-8")
  end

  test "whatever is heard is published, and whatever is announced is heard" do
    assert_empty EventBusPage.heard.keys - EventBusPage.told.keys
    announced = EventBusPage.sources.values.join.scan(/announce\(:(\w+)/).flatten.uniq
    refute_empty announced
    assert_empty announced - EventBusPage.heard.keys
  end
end
