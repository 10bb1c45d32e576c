# frozen_string_literal: true

desc "Write docs/internals/event_bus.md, the publishers and subscribers of each event"
task :event_bus do
  require_relative "event_bus_page"
  File.write(EventBusPage::PATH, EventBusPage.text)
end
