# frozen_string_literal: true

require_relative "scenario"

FAILURES = %w[handler_failed dead_lettered].freeze
PLACE = %w[node topic partition offset].freeze

# A Rails application set up by the generator: one process enqueues jobs, and nodes of a swarm run
# them, one of which is killed meanwhile. No two processes share a connection to PostgreSQL or
# Redis, the mold's connections still work at the end, and each error of a job is reported once.
RailsScenario.play do
  install
  # A failing job, alone in its partition, is given up after a second instead of five minutes.
  generated = File.read("#{root}/config/skep.rb")
  File.write("#{root}/config/skep.rb", generated.sub("jobs(\"default\",", "\\0 retry_for: 1,"))
  checked = skep("check", "config/skep.rb")
  must("pass skep check: #{checked}") { checked.include?("swarm shop, 2 nodes, good to run") }

  procfile = File.readlines("#{root}/Procfile.dev", chomp: true)
  must("be in the Procfile once: #{procfile}") do
    procfile == ["web: bin/rails server", "skep: bin/skep run config/skep.rb"]
  end

  write("app/jobs/bad_job.rb", <<~RUBY)
    class BadJob < ActiveJob::Base
      retry_on IOError, wait: 1, attempts: 2
      def perform(error) = raise(error.constantize, "bad")
    end
  RUBY
  # The mold connects before the fork, and keeps its connections.
  write("config/initializers/redis.rb", <<~RUBY)
    require "redis-client"
    REDIS = RedisClient.config(path: "#{redis}").new_pool(size: 3)
  RUBY
  write("app/jobs/note_job.rb", <<~RUBY)
    class NoteJob < ActiveJob::Base
      def perform(number)
        Note.create!(number:, text: REDIS.call("CLIENT", "ID"), pid: Process.pid,
                     backend: Note.backend)
      end
    end
  RUBY
  File.write("#{root}/swarm.rb", <<~RUBY, mode: "a")
    HELD = Note.lease_connection
    note = lambda do
      File.write("log/mold", "\#{REDIS.call("CLIENT", "ID")} \#{Note.backend}\\n", mode: "a")
    end
    MOLD = Process.pid
    Skep.on_fork(before: -> { note.call if Process.pid == MOLD })
    Skep.on_fork(child: -> { File.write("log/forked", "\#{Note.backend}\\n", mode: "a") })
  RUBY

  swarm = run_application(arguments: %w[--log-level debug]) # each failed attempt is logged
  jobs = 300
  some = <<~RUBY
    ActiveJob.perform_all_later(Array.new(#{jobs}) { |number| NoteJob.new(number) })
    $stdin.gets
    BadJob.perform_later("IOError")
    BadJob.perform_later("KeyError")
    NoteJob.set(wait: 1).perform_later(#{jobs})
  RUBY
  step_by_step(some) do
    swarm.follow("some jobs are done") { noted >= 50 }
    swarm.kill(pid = ready_pids(swarm).first)
    swarm.await(GONE) { |event| event["pid"] == pid }
    swarm.follow("all jobs but the delayed one are done") { noted == jobs }
  end
  swarm.follow("all jobs are done, the delayed one too") { noted == jobs + 1 }
  dead = ["IOError: bad", "KeyError: bad"].map do |error|
    swarm.await("dead_lettered") { |event| event["error"] == error }
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }

  # (If there is a rebalance meanwhile, the embedded broker refuses its commits: the job is tried
  # more often.)
  must("give up a job's own failure at once, and retry the other, not #{dead}") do
    dead.first["attempt"] == 1 && dead.last["attempt"] >= 5
  end
  failures = swarm.events.select { |one| FAILURES.include?(one["event"]) }
  must("have failed at least six times, not #{failures}") { failures.size >= 6 }
  must("report each failure once: #{failures}, not #{reported}") do
    [failures, reported].map { |all| all.map { |one| one.values_at(*PLACE) }.tally }.uniq.one?
  end
  must("report the errors with their places, not #{reported}") do
    reported.all? do |report|
      report.values_at("error", "handled", "source", "swarm", "topic") ==
        ["bad", false, "application.skep", "shop", "shop.jobs.default"]
    end
  end

  # A connection as its id in Redis and its id in PostgreSQL.
  held = File.readlines("#{root}/log/mold").map(&:split)
  must("keep the mold's connections, not #{held}") { held.size > 2 && held.uniq.one? }
  { "text" => held.first.first, "backend" => held.first.last }.each do |column, of_mold|
    owners = [["mold", of_mold], *rows("SELECT DISTINCT pid, #{column} FROM notes")]
    must("never share a connection: #{owners}") { owners.map(&:last).uniq.size == owners.size }
    must("have had several nodes, not #{owners}") { owners.map(&:first).uniq.size > 2 }
  end
  forked = File.readlines("#{root}/log/forked", chomp: true)
  must("open a new connection in a fork hook") { !forked.include?(held.first.last) }
end
