# frozen_string_literal: true

require_relative "scenario"

# Two restarts in a row: while the second replaces a node of Solid Queue, that node still takes over
# the slot of the process before it. The row of the new process in Solid Queue's table stays, and so
# a job of that process runs again once it is killed. A job that has lost the row of its process
# runs again, too.
ROUNDS = 4
SECONDS = 60.0 # until a job has run again
ORPHANED = 150.0 # until one has whose process has no row

RailsScenario.play do
  edit = ->(path, from, to) { write(path, File.read("#{root}/#{path}").sub(from, to)) }
  edit.call("config/application.rb", "queue_adapter = :skep", "queue_adapter = :solid_queue")
  edit.call("config/application.rb", "Bundler.require", "Bundler.require\nrequire \"solid_queue\"")
  write("config/initializers/kafka.rb", "")
  write("config/queue.yml", <<~YAML)
    production:
      workers: [{ queues: "*", threads: 2, polling_interval: 0.1 }]
      dispatchers: [{ polling_interval: 1 }]
  YAML
  write("config/database.yml",
        "production: { url: <%= ENV[\"DATABASE_URL\"] %>, pool: 15 }\n")
  write("app/jobs/kill_job.rb", <<~RUBY)
    class KillJob < ActiveJob::Base
      def perform(number)
        first = Note.where(number:).none?
        Note.create!(number:, text: "kill", pid: Process.pid)
        IO.select(nil, nil, nil, 600) if first
      end
    end
  RUBY
  write("swarm.rb", <<~RUBY)
    require "skep/solid_queue"

    Skep.swarm "jobs", nodes: 1, stop_timeout: 12, max_restarts: 1_000 do |swarm|
      swarm.preload { require_relative "config/environment" }
      swarm.work(Skep::SolidQueue.new(threads: 2))
    end
  RUBY
  in_application(<<~RUBY)
    gem_folder = Gem.loaded_specs.fetch("solid_queue").full_gem_path
    ActiveRecord::Migration.verbose = false
    load "\#{gem_folder}/lib/generators/solid_queue/install/templates/db/queue_schema.rb"
  RUBY
  workers = -> { rows("SELECT pid FROM solid_queue_processes WHERE kind = 'Worker'").flatten }
  runs = ->(number) { Integer(rows("SELECT count(*) FROM notes WHERE number = #{number}")[0][0]) }
  push_and_kill = lambda do |number, &between|
    in_application("KillJob.perform_later(#{number})")
    swarms.last.follow("job #{number} is in progress", seconds: SECONDS) { runs.call(number) == 1 }
    pid = Integer(rows("SELECT pid FROM notes WHERE number = #{number}")[0][0])
    between&.call
    swarms.last.kill(pid)
    seconds = between ? ORPHANED : SECONDS
    swarms.last.follow(-> { "job #{number} runs again; workers: #{workers.call}" }, seconds:) do
      runs.call(number) == 2
    end
  end

  swarm = run_application
  swarm.await("node_ready")
  client = Skep::Control::Client.new("#{directory}/jobs.sock")
  ROUNDS.times do |number|
    2.times do
      running = Thread.new { client.call("restart", timeout: Patience.of(SECONDS)) }
      swarm.follow("the restart is over", seconds: SECONDS) { !running.alive? }
      must("restart: #{running.value}") { running.value["done"] == "restart" }
    end
    swarm.follow_for(3) # longer than a look of the last process
    pid = client.status["nodes"].first["pid"].to_s
    must("keep the row of process #{pid}, not #{workers.call}") { workers.call == [pid] }
    push_and_kill.call(number)
  end
  push_and_kill.call(ROUNDS) { rows("DELETE FROM solid_queue_processes") }
  must("stop with 0: #{swarm.account}") { swarm.stop(seconds: SECONDS).exitstatus.zero? }
  claimed = rows("SELECT job_id FROM solid_queue_claimed_executions").flatten
  must("have no job in progress at the end: #{claimed}") { claimed.empty? }
end
