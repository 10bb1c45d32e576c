# frozen_string_literal: true

desc "Count the files of swarm that a death, a breach of memory, a reload and a stop pass"
task("journeys" => :compile) { ruby "test/journeys/journeys.rb" }
