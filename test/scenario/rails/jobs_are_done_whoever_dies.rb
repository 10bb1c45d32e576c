# frozen_string_literal: true

require_relative "scenario"

# A Rails application made ready by its generator: jobs enqueued by one process are done by nodes of
# another, one of which is killed meanwhile. No two processes ever speak over one connection of
# PostgreSQL or Redis, the mold's still work at the end, and what jobs raise is reported once.
RailsScenario.play do
  install
  # A bad job, alone in its partition, is given up after a second instead of five minutes.
  generated = File.read("#{root}/config/skep.rb")
  File.write("#{root}/config/skep.rb", generated.sub("jobs(\"default\",", "\\0 retry_for: 1,"))
  checked = skep("check", "config/skep.rb")
  must("be good to run: #{checked}") { checked.include?("swarm shop, 2 nodes, good to run") }

  procfile = File.readlines("#{root}/Procfile.dev", chomp: true)
  must("be started with the rest, once: #{procfile}") do
    procfile == ["web: bin/rails server", "skep: bin/skep run config/skep.rb"]
  end

  write("app/jobs/bad_job.rb", <<~RUBY)
    class BadJob < ActiveJob::Base
      retry_on IOError, wait: 1, attempts: 2
      def perform(error) = raise(error.constantize, "bad")
    end
  RUBY
  # It has connected before the fork, and still has those connections whenever it forks.
  write("config/initializers/redis.rb", <<~RUBY)
    require "redis-client"
    REDIS = RedisClient.config(path: "#{redis}").new_pool(size: 3)
  RUBY
  write("app/jobs/note_job.rb", <<~RUBY)
    class NoteJob < ActiveJob::Base
      def perform(number)
        Note.create!(number:, said: REDIS.call("CLIENT", "ID"), pid: Process.pid,
                     backend: Note.backend)
      end
    end
  RUBY
  File.write("#{root}/swarm.rb", <<~RUBY, mode: "a")
    HELD = Note.lease_connection
    told = lambda do
      File.write("log/mold", "\#{REDIS.call("CLIENT", "ID")} \#{Note.backend}\\n", mode: "a")
    end
    MOLD = Process.pid
    Skep.on_fork(before: -> { told.call if Process.pid == MOLD })
    Skep.on_fork(child: -> { File.write("log/born", "\#{Note.backend}\\n", mode: "a") })
  RUBY

  swarm = run_application
  jobs = 300
  some = <<~RUBY
    ActiveJob.perform_all_later(Array.new(#{jobs}) { |number| NoteJob.new(number) })
    $stdin.gets
    BadJob.perform_later("IOError")
    BadJob.perform_later("KeyError")
    NoteJob.set(wait: 1).perform_later(#{jobs})
  RUBY
  step_by_step(some) do
    swarm.follow("some are done") { noted >= 50 }
    swarm.kill(pid = living(swarm).first)
    swarm.await(GONE) { |event| event["pid"] == pid }
    swarm.follow("all but the last are done") { noted == jobs }
  end
  swarm.follow("all jobs are done, that for later too") { noted == jobs + 1 }
  dead = swarm.await("dead_lettered", times: 2)
  must("stop with 0") { swarm.stop.exitstatus.zero? }

  must("give up what the job gave up, and try the other again, not #{dead}") do
    dead.to_h { |event| event.values_at("error", "attempt") } ==
      { "IOError: bad" => 1, "KeyError: bad" => 5 }
  end
  errors = reported.map { |report| report["error"] }.tally
  must("report each failure once, not #{reported}") do
    errors == { "bad" => 6 } && reported.all? do |report|
      report.values_at("handled", "source", "swarm") == [false, "application.skep", "shop"] &&
        report["topic"] == "shop.jobs.default" && report.values_at("node", "offset").all?(Integer)
    end
  end

  # Each as what Redis calls it and what PostgreSQL does.
  held = File.readlines("#{root}/log/mold").map(&:split)
  must("leave the mold its connections, not #{held}") { held.size > 2 && held.uniq.one? }
  { "said" => held.first.first, "backend" => held.first.last }.each do |column, of_mold|
    owners = [["mold", of_mold], *rows("SELECT DISTINCT pid, #{column} FROM notes")]
    must("never share one: #{owners}") { owners.map(&:last).uniq.size == owners.size }
    must("have had several nodes, not #{owners}") { owners.map(&:first).uniq.size > 2 }
  end
  born = File.readlines("#{root}/log/born", chomp: true)
  must("give who asks at its birth one of its own") { !born.include?(held.first.last) }
end
