# frozen_string_literal: true

desc "Write docs/internals/states.md, the tables of all state machines"
task :states do
  $LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
  require_relative "states_page"
  File.write(StatesPage::PATH, StatesPage.text)
end
