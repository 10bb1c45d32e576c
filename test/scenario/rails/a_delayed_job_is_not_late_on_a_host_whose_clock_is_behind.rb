# frozen_string_literal: true

require_relative "scenario"

# A host whose clock is 300 s ahead of the node's enqueues a job that waits 3 s: the message has
# that host's times. The job runs when it is due, not 300 s later (a slow machine takes less), and
# the node warns of the clocks.
RailsScenario.play do
  ahead = 300
  wait = 3
  in_application("NoteJob.perform_later(0)") # makes sure of the topics
  swarm = run_application
  swarm.follow("the first job is done") { noted == 1 }

  began = Skep::OS.now
  in_application(<<~RUBY)
    now = Time.now + #{ahead}
    job = NoteJob.new(1)
    facts = job.serialize.merge("scheduled_at" => (now + #{wait}).utc.iso8601(9))
    producer = Skep::Kafka::Producer.new(Rails.application.config.skep.kafka)
    producer.produce_sync("shop.jobs.delay-2s", JSON.generate(facts), timeout: 10, timestamp: now)
    producer.close
  RUBY
  sent = Skep::OS.now
  swarm.follow("the delayed job is done", seconds: ahead + 60) { noted == 2 }
  done = Skep::OS.now
  must("run the job when it is due, not #{(done - sent).round(1)} s after it was sent") do
    done - began >= wait && done - sent < ahead
  end
  warning = swarm.await("clock_behind", seconds: 5)
  status = Skep::Control::Client.new("#{directory}/shop.sock")
  swarm.follow("the status names the clocks as a problem, for a minute") do
    status.status["problems"].any? { |one| one["kind"] == "clocks_apart" }
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  must("warn of the difference, not #{warning}") do
    warning["behind"].between?(ahead / 2, ahead) && warning["topic"] == "shop.jobs.delay-2s"
  end
end
