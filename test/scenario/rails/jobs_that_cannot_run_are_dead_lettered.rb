# frozen_string_literal: true

require_relative "scenario"

# Jobs whose class or record is missing, and messages that are no jobs, go to the dead letter topic
# with their cause. All other jobs run, including one that was enqueued in a transaction, after its
# commit.
RailsScenario.play do
  write("app/jobs/of_a_note_job.rb", <<~RUBY)
    class OfANoteJob < ActiveJob::Base
      def perform(note) = note.reload
    end
  RUBY
  write("app/jobs/committed_job.rb", <<~RUBY) # Rails 7.2 asks the adapter
    class CommittedJob < NoteJob
      self.enqueue_after_transaction_commit = Rails::VERSION::MAJOR == 7 ? :default : true
    end
  RUBY
  jobs = 40
  output = in_application(<<~RUBY)
    job = nil
    Note.transaction { puts (job = CommittedJob.perform_later(#{jobs})).provider_job_id.inspect }
    puts job.provider_job_id
    ActiveJob.perform_all_later(Array.new(#{jobs}) { |number| NoteJob.new(number) })
  RUBY
  must("enqueue after the commit: #{output}") do
    output.match?(%r{\Anil\nshop.jobs.default/\d+/\d+\n\z})
  end

  swarm = run_application
  swarm.follow("all other jobs are done") { noted == jobs + 1 }
  # Of what is left, all fail but one.
  write("app/jobs/gone_job.rb", "class GoneJob < ActiveJob::Base; end\n")
  in_application(<<~RUBY)
    require "skep/kafka/testing"
    note = Note.create!
    feed = Skep::Kafka::Testing::TopicSeeder.new(ENV.fetch("KAFKA_BROKERS"), "shop.jobs.default")
    feed.publish([[nil, "{"], [nil, nil], [nil, "[1]"]])
    feed.close
    ActiveJob.perform_all_later(GoneJob.new, OfANoteJob.new(note))
    note.destroy
    NoteJob.perform_later(#{jobs + 1})
  RUBY
  dead = swarm.await("dead_lettered", times: 5)
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  why = dead.map { |event| event["error"][/\A[\w:]+(?=:)/] }.tally
  unknown = (why.keys & ["NameError", "ActiveJob::UnknownJobClassError"]).first # Rails 8.1's
  must("report the cause, not #{dead}") do
    why == { unknown => 1, "ActiveJob::DeserializationError" => 1, "Skep::Rails::InvalidJob" => 3 }
  end
end
