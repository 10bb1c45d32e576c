# frozen_string_literal: true

desc "Write docs/internals/states.md, the tables of all state machines"
task :states do
  require_relative "../load_path"
  require_relative "states_page"
  File.write(StatesPage::PATH, StatesPage.text)
end
