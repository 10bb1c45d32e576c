# frozen_string_literal: true

desc "Count the files of eight code paths: all, journeys[swarm] or [kafka]; CHECKOUT=… another one"
task("journeys", [:part] => :compile) do |_, arguments|
  ruby "test/journeys/journeys.rb", ENV.fetch("CHECKOUT", "."), *arguments[:part]
end
