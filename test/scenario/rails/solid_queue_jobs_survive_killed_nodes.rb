# frozen_string_literal: true

require_relative "scenario"

# Solid Queue in the nodes of a Rails application, on PostgreSQL, while nodes are killed, one is
# stuck, a job kills its nodes, the swarm is reloaded and restarted, the database crashes, and the
# swarm is stopped during a job: each job is done, back in its queue, or failed with the cause. Jobs
# run in Rails' executor.
SECONDS = 120.0 # until the jobs are done
JOBS = 300

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
  write("app/jobs/note_job.rb", <<~RUBY)
    class NoteJob < ActiveJob::Base
      def perform(number)
        Note.create!(number:, text: "executor: \#{Rails.application.executor.active?}", pid: Process.pid)
      end
    end
  RUBY
  write("app/jobs/quit_job.rb", <<~RUBY)
    class QuitJob < ActiveJob::Base
      def perform = Thread.current.kill
    end
  RUBY
  write("app/jobs/harm_job.rb", <<~RUBY)
    #{HANG}
    class HarmJob < ActiveJob::Base
      retry_on StandardError, attempts: 50

      def perform(kind)
        number = { "stuck" => -1, "kills" => -2, "slow" => -3 }.fetch(kind)
        first = Note.where(number:).none?
        Note.create!(number:, text: "harm", pid: Process.pid)
        case kind
        when "stuck" then hang if first
        when "kills" then Process.kill(:KILL, Process.pid)
        when "slow" then IO.select(nil, nil, nil, 600)
        end
      end
    end
  RUBY
  write("swarm.rb", <<~RUBY)
    require "skep/solid_queue"

    Skep.swarm "jobs", nodes: 2, liveness_timeout: 8, kill_timeout: 1, stop_timeout: 12,
                       max_restarts: 1_000 do |swarm|
      swarm.preload { require_relative "config/environment" }
      swarm.work(Skep::SolidQueue.new(threads: 2, longest: ->(job) { job.is_a?(HarmJob) ? 2 : 60 }))
    end
  RUBY
  in_application(<<~RUBY)
    gem_folder = Gem.loaded_specs.fetch("solid_queue").full_gem_path
    ActiveRecord::Migration.verbose = false
    load "\#{gem_folder}/lib/generators/solid_queue/install/templates/db/queue_schema.rb"
  RUBY
  numbers = lambda do |condition|
    Integer(rows("SELECT count(DISTINCT number) FROM notes WHERE #{condition}").first.first)
  end
  done = -> { numbers.call("number >= 0") }
  push = lambda do |range|
    in_application("ActiveJob.perform_all_later((#{range}).map { |number| NoteJob.new(number) })")
  end

  swarm = run_application
  swarm.await("node_ready", times: 2)
  push.call("0...#{JOBS / 3}")
  swarm.follow("some jobs are done", seconds: SECONDS) { done.call >= 10 }
  2.times do
    pid = ready_pids(swarm).first
    swarm.kill(pid)
    swarm.await(GONE) { |event| event["pid"] == pid }
    swarm.await("node_ready")
  end

  in_application('HarmJob.perform_later("stuck")')
  swarm.await("node_hung", seconds: SECONDS) do |event|
    event["in_flight"].to_s.include?("HarmJob ")
  end

  push.call("#{JOBS / 3}...#{JOBS * 2 / 3}")
  %w[reload restart].each do |deploy|
    running = Thread.new do
      socket = Skep::Control::Client.new("#{directory}/jobs.sock")
      socket.call(deploy, timeout: Patience.of(SECONDS))
    end
    swarm.follow("the #{deploy} is over", seconds: SECONDS) { !running.alive? }
    must("#{deploy}: #{running.value}; #{swarm.account}") { running.value["done"] == deploy }
  end

  in_application('HarmJob.perform_later("kills")')
  failed = -> { rows("SELECT error FROM solid_queue_failed_executions").flatten }
  swarm.follow("the killing job is failed", seconds: SECONDS) { failed.call.any? }
  must("name the cause, not #{failed.call}") do
    failed.call.one? && failed.call.first.include?("Skep::SolidQueue::JobCrashed") &&
      failed.call.first.include?("SIGKILL")
  end
  in_application("QuitJob.perform_later")
  swarm.follow("the job that ends its thread is failed", seconds: SECONDS) do
    failed.call.any? { |error| error.include?("SIGABRT") }
  end

  push.call("#{JOBS * 2 / 3}...#{JOBS}")
  notes.restart("immediate")
  @database.reset
  # A job that the outage has interrupted may be marked as failed.
  over = lambda do
    arguments = rows("SELECT arguments FROM solid_queue_failed_executions JOIN solid_queue_jobs " \
                     "ON solid_queue_jobs.id = job_id WHERE class_name = 'NoteJob'").flatten
    rows("SELECT number FROM notes WHERE number >= 0").flatten.map { |number| Integer(number) } |
      arguments.map { |text| JSON.parse(text)["arguments"].first }
  end
  swarm.follow(-> { "#{over.call.size} of #{JOBS} jobs are done" }, seconds: SECONDS) do
    over.call.size == JOBS
  end
  must("do most of the jobs, not #{done.call}") { done.call > JOBS - 20 }
  swarm.follow("the stuck job is done", seconds: SECONDS) do
    Integer(rows("SELECT count(*) FROM notes WHERE number = -1").first.first) >= 2
  end
  texts = rows("SELECT DISTINCT text FROM notes WHERE number >= 0").flatten
  must("run jobs in the executor, not: #{texts}") { texts == ["executor: true"] }

  in_application('HarmJob.perform_later("slow")')
  swarm.follow("a long job is in progress", seconds: SECONDS) { numbers.call("number = -3") == 1 }
  must("stop with 0: #{swarm.account}") { swarm.stop(seconds: SECONDS).exitstatus.zero? }
  left = rows("SELECT class_name FROM solid_queue_ready_executions JOIN solid_queue_jobs " \
              "ON solid_queue_jobs.id = job_id").flatten
  must("give back the long job, and no other: #{left}") { left == ["HarmJob"] }
  claimed = rows("SELECT job_id FROM solid_queue_claimed_executions").flatten
  must("have no job in progress at the end: #{claimed}") { claimed.empty? }
  registered = rows("SELECT kind FROM solid_queue_processes").flatten
  must("leave no process of Solid Queue: #{registered}") { registered.empty? }
end
