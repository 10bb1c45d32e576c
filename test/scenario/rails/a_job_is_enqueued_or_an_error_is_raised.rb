# frozen_string_literal: true

require_relative "scenario"

# After an enqueue the job is in Kafka, or the call raises: also in a process whose parent has
# enqueued before, like a Puma worker, also if no broker answers, and if the job is too large. The
# test helper runs the jobs without a node.
RailsScenario.play do
  without_database
  write("config/initializers/zz.rb", <<~RUBY)
    Rails.application.config.skep.enqueue_timeout = #{Patience.of(2)}
    Rails.application.config.skep.kafka[:"message.max.bytes"] = 1_000_000
  RUBY
  write("app/jobs/keyed_job.rb", <<~RUBY)
    class KeyedJob < ActiveJob::Base
      def perform(customer) = nil
      def kafka_key = arguments.first
    end
  RUBY
  stops = %i[down! up!]
  output = step_by_step(<<~'RUBY') { broker.public_send(stops.shift) }
    def failure
      yield
      "nothing"
    rescue Skep::Error, NotImplementedError => e
      "#{e.class}: #{e.message}"
    end
    put = ->(name, what) { puts "#{name}: #{what}" }

    put.call "place", NoteJob.perform_later(1).provider_job_id.split("/").first
    reader, writer = IO.pipe
    child = fork do
      writer.puts NoteJob.perform_later(2).successfully_enqueued?
      fork { writer.puts NoteJob.perform_later(3).successfully_enqueued? }.then { |pid| Process.wait(pid) }
    end
    Process.wait(child)
    writer.close
    put.call "forked", reader.read.split.join(" ")
    put.call "parent", NoteJob.perform_later(4).successfully_enqueued?
    put.call "keys", 6.times.map { KeyedJob.perform_later("c").provider_job_id.split("/")[1] }.uniq.size
    jobs = Array.new(50) { |number| NoteJob.new(number) }
    ActiveJob.perform_all_later(jobs)
    put.call "all", jobs.count { |job| job.successfully_enqueued? && job.provider_job_id }
    put.call "late", NoteJob.set(wait: 3600).perform_later(1).provider_job_id.split("/").first
    require "skep/kafka/testing"
    work = Skep::Kafka::Testing.load("swarm.rb").work("shop.jobs.default")
    outcome = work.run([JSON.generate(KeyedJob.new("c").serialize), "{"])
    put.call "test run", [outcome.done, outcome.dead_letters].map(&:size).inspect

    adapter = ActiveJob::Base.queue_adapter # Rails 8.1 asks without an argument, later with one
    put.call "stopping", [adapter.stopping?, adapter.stopping?(NoteJob.new(1))].inspect

    put.call "large", failure { NoteJob.perform_later("x" * 2_000_000) }
    some = [NoteJob.new(1), NoteJob.new("x" * 2_000_000)]
    put.call "some", failure { ActiveJob.perform_all_later(some) }
    put.call "which", some.map(&:successfully_enqueued?).inspect
    put.call "queue", failure { NoteJob.set(queue: "no queue").perform_later(1) }
    put.call "own", failure { NoteJob.set(queue: "dead").perform_later(1) }
    $stdin.gets
    put.call "away", failure { NoteJob.perform_later(6) }
    $stdin.gets
    tries = 0
    begin
      put.call "back", NoteJob.perform_later(7).successfully_enqueued?
    rescue Skep::Rails::EnqueueFailed # librdkafka may wait for 10 s before it connects again
      (tries += 1) < 10 ? retry : raise
    end
  RUBY
  expected = {
    "place" => "shop.jobs.default", "forked" => "true true", "parent" => "true", "keys" => "1",
    "all" => "50", "late" => "shop.jobs.delay-2s", "test run" => "[1, 1]",
    "stopping" => "[false, false]",
    "large" => /\ASkep::Rails::EnqueueFailed: NoteJob wasn't enqueued: .*too large/,
    "some" => /1 of 2 jobs weren't enqueued: .*too large/, "which" => "[true, false]",
    "queue" => /InvalidQueueName: Queue "no queue" .* Use letters/,
    "own" => /InvalidQueueName: Queue "dead" .* Choose another/,
    "away" => /EnqueueFailed: NoteJob wasn't enqueued: .*timed out/, "back" => "true"
  }
  results = output.lines.to_h { |line| line.chomp.split(": ", 2) }
  wrong = expected.reject { |name, what| what === results[name] }
  must("return or raise as expected, not #{results.slice(*wrong.keys)}: #{output}") { wrong.empty? }
end
