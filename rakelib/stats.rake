# frozen_string_literal: true

desc "Count the files and lines of lib; an entry file counts for the folder beside it"
task "stats" do
  require_relative "stats"
  Stats.print($stdout)
end
