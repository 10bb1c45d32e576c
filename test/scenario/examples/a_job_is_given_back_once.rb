# frozen_string_literal: true

require_relative "scenario"
require_relative "../../../examples/support/redis"
require "skep/sidekiq"

# What Skep::Sidekiq does in Redis, without a swarm: however many processes give back the jobs of a
# dead one, each is in its queue once, and not at all if it was done meanwhile. The jobs of a live
# process stay. A due job isn't lost if the process that pushes it into its queue is killed. With 50
# queues an idle thread sends as few commands as with one, and takes jobs in the queues' order.
JobLists = Skep::Sidekiq::JobLists
Watch = Skep::Sidekiq::ThreadWatch
QUEUES = Array.new(50) { |number| "queue:q#{number}" }
SECONDS = 5.0 # of idleness that are measured

ExampleScenario.play do
  redis = RedisServer.start
  at_end { redis.stop }
  Sidekiq.configure_client { |config| config.redis = { url: redis.url } }
  Sidekiq.default_configuration.logger.level = Logger::WARN
  ask = ->(*command) { Sidekiq.redis { |one| one.call(*command) } }
  push = lambda do |numbers, queue|
    name = queue.delete_prefix("queue:")
    numbers.each { |one| ask.call("LPUSH", queue, JSON.generate(jid: one, queue: name)) }
  end
  lists = ->(owner, slot: "host/jobs/0") { JobLists.new(slot:, owner:, watch: Watch.new(1)) }
  take = ->(list) { Sidekiq.redis { |one| list.take(one, QUEUES)&.last } }

  first, other = lists.call("first"), lists.call("other", slot: "host/jobs/1")
  push.call([1], "queue:q0")
  job = take.call(first)
  2.times { Sidekiq.redis { |one| other.push_back(one, job, list: first.own) } }
  must("give a job back once") { ask.call("LRANGE", "queue:q0", 0, -1) == [job] }
  take.call(first)
  ask.call("LREM", first.own, 1, job) # done
  Sidekiq.redis { |one| other.push_back(one, job, list: first.own) }
  must("not give back a job that is done") { ask.call("LLEN", "queue:q0").zero? }

  push.call(1..200, "queue:q0")
  pid = fork do
    dead = lists.call("dead")
    dead.register
    150.times { take.call(dead) }
    exit!(0)
  end
  Process.wait(pid)
  alive = lists.call("alive")
  alive.register
  50.times { take.call(alive) }
  Array.new(4) { |number| Thread.new { lists.call("next#{number}").inherit } }.each(&:join)
  jobs = ask.call("LRANGE", "queue:q0", 0, -1)
  must("give each of 150 jobs back once, not #{jobs.size}") do
    jobs.uniq.size == 150 && jobs.size == 150
  end
  must("leave the jobs of the process that lives") { ask.call("LLEN", alive.own) == 50 }
  owners = ask.call("HKEYS", "skep:owners")
  must("forget the dead process only: #{owners}") { owners == ["alive"] }

  # A process whose heartbeat is missing for long may live, and take more.
  3.times { other.check }
  must("give back jobs of a process without a heartbeat") { ask.call("LLEN", alive.own).zero? }
  take.call(alive)
  other.check
  must("give back what it takes then") { ask.call("LLEN", alive.own).zero? }

  redis.ask("FLUSHALL")
  config = Sidekiq.default_configuration
  due = JSON.generate(jid: "due", class: "Job", args: [], queue: "q0")
  schedule = lambda do |process|
    config[:fetch_setup] = process
    Skep::Sidekiq::ReliableSchedule.new(config)
  end
  pid = fork do
    dead = lists.call("dead").tap(&:register)
    ask.call("ZADD", "schedule", "1", due)
    killed = schedule.call(dead)
    client = killed.instance_variable_get(:@client)
    client.define_singleton_method(:push) { |_| Process.kill(:KILL, Process.pid) }
    killed.enqueue_jobs
  end
  Process.wait(pid)
  must("have taken the job") { ask.call("ZCARD", "schedule").zero? }
  lists.call("next").inherit
  must("not lose a due job") { ask.call("LRANGE", "queue:q0", 0, -1) == [due] }
  redis.ask("FLUSHALL")
  ask.call("ZADD", "retry", "1", due)
  ask.call("ZADD", "retry", (Time.now + 60).to_f.to_s, due.sub("due", "later"))
  schedule.call(first).enqueue_jobs
  jobs = ask.call("LRANGE", "queue:q0", 0, -1).map { |one| JSON.parse(one)["jid"] }
  must("push what is due once: #{jobs}") do
    jobs == ["due"] && ask.call("ZCARD", "retry") == 1 && ask.call("LLEN", first.own).zero?
  end

  redis.ask("FLUSHALL")
  config.queues = QUEUES.map { |queue| queue.delete_prefix("queue:") }
  fetch = Skep::Sidekiq::ReliableFetch.new(config.capsules.fetch("default"))
  fetch.setup(first)
  push.call([3], QUEUES[30])
  push.call([2], QUEUES[20])
  order = Array.new(2) { fetch.retrieve_work.queue }
  must("take jobs in the order of the queues: #{order}") { order == [QUEUES[20], QUEUES[30]] }
  calls = lambda do
    stats = redis.ask("INFO", "commandstats")
    stats.scan(/cmdstat_(?:eval|blmove):calls=(\d+)/).flatten.sum(&:to_i)
  end
  began, before = Skep::OS.now, calls.call
  fetch.retrieve_work while Skep::OS.now - began < SECONDS
  rate = (calls.call - before) / (Skep::OS.now - began)
  must("send two commands per second with 50 queues, not #{rate}") { rate < 3 }
  taken = Thread.new do
    work = nil
    work = fetch.retrieve_work until work
    [Skep::OS.now, work.queue]
  end
  began = Skep::OS.now
  push.call([4], QUEUES.last)
  at, queue = taken.value
  must("take a job of the last queue within some 1 s, not #{at - began}") do
    queue == QUEUES.last && at - began < Patience.of(2)
  end
end
