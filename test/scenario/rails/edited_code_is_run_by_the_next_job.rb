# frozen_string_literal: true

require_relative "scenario"

# In development: a job, and a handler of messages, run what their files say now, in nodes that were
# forked before it was written.
RailsScenario.play do
  install
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
  said = lambda do |what|
    write("app/models/note.rb", <<~RUBY)
      class Note < ActiveRecord::Base
        def self.take(number) = create!(number:, said: "#{what}", pid: Process.pid)
      end
    RUBY
    write("app/jobs/note_job.rb", <<~RUBY)
      class NoteJob < ActiveJob::Base
        def perform(number) = Note.create!(number:, said: "job of #{what}", pid: Process.pid)
      end
    RUBY
  end
  send = lambda do |number|
    in_application("NoteJob.perform_later(#{number})")
    feed = Skep::Kafka::Feed.new(broker.bootstrap_servers, "orders")
    feed.publish([[nil, (number + 1).to_s]])
  ensure
    feed&.close
  end

  said.call("before")
  swarm = run_application(env: "development")
  send.call(0)
  swarm.follow("the code of before has run") { noted == 2 }
  said.call("after")
  send.call(2)
  swarm.follow("the edited code has run") { noted == 4 }
  must("stop with 0") { swarm.stop.exitstatus.zero? }

  rows = notes.query("SELECT number, said FROM notes ORDER BY number").split("\n")
  must("run what the files say, not #{rows}") do
    rows == ["0|job of before", "1|before", "2|job of after", "3|after"]
  end
  pids = notes.query("SELECT count(DISTINCT pid) FROM notes").to_i
  must("do so in the same two nodes, not #{pids}") { pids == 2 }
end
