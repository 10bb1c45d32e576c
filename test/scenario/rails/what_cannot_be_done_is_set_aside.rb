# frozen_string_literal: true

require_relative "scenario"

# Jobs whose class or record is gone, what is no job at all, and a job that kills its node go to the
# topic of dead jobs, each with why; all others are done, and no node stays down.
RailsScenario.play do
  write("app/jobs/kill_job.rb", <<~RUBY)
    class KillJob < ActiveJob::Base
      def perform = Process.kill(:KILL, Process.pid)
    end
  RUBY
  write("app/jobs/gone_job.rb", "class GoneJob < ActiveJob::Base; end\n")
  write("app/jobs/of_a_note_job.rb", <<~RUBY)
    class OfANoteJob < ActiveJob::Base
      def perform(note) = note.reload
    end
  RUBY
  jobs = 40
  in_application(<<~RUBY)
    note = Note.create!
    some = [GoneJob.new, OfANoteJob.new(note), KillJob.new]
    ActiveJob.perform_all_later(Array.new(#{jobs}) { |number| NoteJob.new(number) } + some)
    note.destroy
  RUBY
  FileUtils.rm("#{root}/app/jobs/gone_job.rb")
  feed = Skep::Kafka::Feed.new(broker.bootstrap_servers, "shop.jobs.default")
  feed.publish([[nil, "{"], [nil, nil], [nil, "[1]"]])
  feed.close

  swarm = run_application
  swarm.follow("all that can be done is") { noted == jobs }
  dead = lambda do # one that is set aside as its node is killed is so once more
    swarm.events.select { |event| event["event"] == "dead_lettered" }
         .uniq { |event| event.values_at("partition", "offset") }
  end
  swarm.follow("the rest is set aside", seconds: 60) { dead.call.size == 6 }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  why = dead.call.map { |event| event["error"][/\A[\w:]+(?=:)/] }.tally
  unknown = (why.keys & ["NameError", "ActiveJob::UnknownJobClassError"]).first # Rails 8.1's
  must("say why, not #{dead.call}") do
    why == { unknown => 1, "ActiveJob::DeserializationError" => 1,
             "Skep::Rails::NoJob" => 3, "Skep::Kafka::Crashed" => 1 }
  end
  deaths = swarm.events.count { |event| event["event"] == "node_died" && event["signal"] == "KILL" }
  must("kill few nodes, not #{deaths}") { deaths.between?(3, 6) }
end
