# frozen_string_literal: true

require_relative "scenario"

# In development: a job and a message handler run the current code of their files, in nodes that
# were forked before the edit.
RailsScenario.play do
  broker.create_topic("orders", 1)
  write("swarm.rb", <<~RUBY)
    require_relative "config/boot"
    require "skep/rails"
    require_relative "config/environment"

    Skep.swarm "shop", nodes: 1 do |swarm|
      swarm.work Skep::Rails.jobs("default", threads: 2)
      source = Skep::Kafka::Source.new(kafka: Rails.configuration.skep.kafka, group: "shop",
                                       topics: "orders")
      swarm.work(source) { |batch, _| batch.each { |message| Note.take(Integer(message.payload)) } }
    end
  RUBY
  edit = lambda do |text|
    write("app/models/note.rb", <<~RUBY)
      class Note < ActiveRecord::Base
        def self.take(number) = create!(number:, text: "#{text}", pid: Process.pid)
      end
    RUBY
    write("app/jobs/note_job.rb", <<~RUBY)
      class NoteJob < ActiveJob::Base
        def perform(number) = Note.create!(number:, text: "job of #{text}", pid: Process.pid)
      end
    RUBY
  end
  publish = lambda do |number|
    feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, "orders")
    feed.publish([[nil, number.to_s]])
  ensure
    feed&.close
  end

  edit.call("before")
  swarm = run_application(env: "development")
  publish.call(1)
  step_by_step("NoteJob.perform_later(0)\n$stdin.gets\nNoteJob.perform_later(2)") do
    swarm.follow("the old code has run") { noted == 2 }
    edit.call("after")
  end
  publish.call(3)
  swarm.follow("the edited code has run") { noted == 4 }
  must("stop with 0") { swarm.stop.exitstatus.zero? }

  found = rows("SELECT number, text FROM notes ORDER BY number").map { |row| row.join(" ") }
  must("run the current code, not #{found}") do
    found == ["0 job of before", "1 before", "2 job of after", "3 after"]
  end
  pids = rows("SELECT DISTINCT pid FROM notes").size
  must("run it in the same two nodes, not #{pids}") { pids == 2 }
end
