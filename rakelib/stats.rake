# frozen_string_literal: true

desc "Count the files and lines of each gem, by component"
task "stats" do
  require_relative "stats"
  Stats.print($stdout)
end
