# frozen_string_literal: true

# Keyed messages, while nodes get SIGKILL at random moments and the swarm is restarted, reloaded,
# scaled, stopped and started again. Some messages fail at first, and some until the handler is
# mended. A log of each attempt is compared with a model:
#
# - each key's messages are finished (processed, or dead letters) in their order,
# - a message that always fails is tried max_attempts times, plus what kills and the order of
#   successes explain,
# - a message is processed twice only if its node was killed shortly after it, before a commit,
# - a replay of the dead letters with a mended handler leaves an empty dead letter topic.
#
# (MESSAGES=n, KILLS=n, SEED=n for more.)
require_relative "scenario"
require "json"
require "open3"

MESSAGES = Integer(ENV.fetch("MESSAGES", "12000"))
KILLS = Integer(ENV.fetch("KILLS", "8"))
SEED = Integer(ENV.fetch("SEED", "1"))
PARTITIONS = 8
KEYS = 800
MAX_ATTEMPTS = 4
# While few others succeed, or others fail, too, more tries are needed (decision 0041).
MORE_ATTEMPTS = 24

# What the handler has logged, and what the model says of it.
class AttemptLog
  Attempt = Struct.new(:at, :pid, :number, :result) do
    def partition = number % PARTITIONS
  end
  # Seconds before a kill whose work may not be committed yet: commit_interval, half a second for a
  # failure, and a slow machine.
  UNCOMMITTED = 2.5
  # Seconds: a success whose batch began before a failure doesn't count against that message.
  BATCH = 0.3

  # kills: { pid => time }
  def initialize(place, kills)
    @kills = kills
    @all = Dir.glob("#{place}.*").flat_map { |path| read(path) }.sort_by(&:at)
    @by_number = @all.group_by(&:number)
    @successes = done(@all).group_by { |one| [one.pid, one.partition] }
                           .transform_values { |all| all.map(&:at) }
  end

  def of(number) = @by_number.fetch(number, [])
  def processed = @by_number.count { |_, all| done(all).any? }
  def done(attempts) = attempts.select { |one| one.result == "done" }
  def failed(attempts) = attempts.select { |one| one.result == "failed" }
  def twice = done(@all).size - processed

  # Numbers of messages that were processed again without a kill as the reason.
  def repeated = @by_number.select { |_, all| certain(done(all)).size > 1 }.keys

  # Those that were tried although they had to be dead letters already.
  def tried_too_often = @by_number.select { |_, all| beyond_limit?(failed(all)) }.keys

  # [number, next number of its key] where the second one was tried before the first was finished.
  def out_of_order
    (0...MESSAGES).filter_map do |number|
      follower = number + KEYS
      next unless (first = of(follower).first)

      [number, follower] unless finished_before?(number, first.at)
    end
  end

  private

  def finished_before?(number, time)
    before = of(number).take_while { |one| one.at < time }
    done(before).any? || failed(before).size >= MAX_ATTEMPTS
  end

  # Failures count from the second one on, if others of the partition have succeeded in the same
  # process since the first one. Once one has counted, all that follow do.
  def beyond_limit?(failures)
    own = 0
    certain(failures).each.with_index(1).any? do |one, count|
      next true if count > MAX_ATTEMPTS && own >= MAX_ATTEMPTS - 1 + MORE_ATTEMPTS

      own += 1 if own.positive? || success_between?(failures.first, one)
      false
    end
  end

  def success_between?(first, one)
    times = @successes.fetch([one.pid, one.partition], [])
    from = times.bsearch { |time| time > first.at + BATCH }
    !from.nil? && from < one.at - BATCH
  end

  # Those whose result a kill can't have hidden from the next owner.
  def certain(attempts)
    attempts.reject { |one| @kills[one.pid]&.then { |at| at - one.at < UNCOMMITTED } }
  end

  # A line is "TIME NUMBER RESULT".
  def read(path)
    pid = path[/\d+\z/].to_i
    File.readlines(path, chomp: true).map do |line|
      at, number, result = line.split
      Attempt.new(at.to_f, pid, number.to_i, result)
    end
  end
end

class KeyedModel < KafkaScenario
  STEPS = KILLS * 3 / 2 # every third is no kill
  FILL = 400 # messages behind the last one, so that others succeed while that fails

  def play_out
    @random = Random.new(SEED)
    @kills = {}
    topic("orders", PARTITIONS)
    topic("dead", 2)
    @swarm = start
    STEPS.times { |step| disturb(step) }
    await_end
    check
    replay
  end

  private

  def start
    swarm = run_swarm(<<~RUBY)
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                       group: "orders", topics: ["orders"], threads: 4,
                                       ordered_by: :key, max_messages: 10, commit_interval: 0.2,
                                       max_attempts: #{MAX_ATTEMPTS}, retry_backoff: 0.4,
                                       dead_letter_topic: "dead")
      Skep.swarm "model", nodes: 2, max_restarts: 1_000 do |swarm|
        swarm.on_boot { @log = File.open("#{log}.\#{Process.pid}", "a") }
        swarm.work(source) do |batch, node|
          batch.each do |message|
            number = message.payload.to_i
            IO.select(nil, nil, nil, 0.001)
            bad = number % 101 == 7 && number < #{MESSAGES} && !File.exist?("#{mended}")
            at_first = number % 37 == 5 && (1..2).find do |n|
              File.open("#{directory}/first.\#{number}.\#{n}", File::CREAT | File::EXCL, &:close) || true
            rescue Errno::EEXIST
              false
            end
            at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            @log.syswrite("\#{at} \#{number} \#{bad || at_first ? "failed" : "done"}\\n")
            raise "bad" if bad
            raise "at first" if at_first
            batch.mark(message) # what was done in a batch that fails isn't repeated
          end
        end
      end
    RUBY
    swarm.await("node_assigned", times: 2)
    swarm
  end

  def log = "#{directory}/log"
  def mended = "#{directory}/mended"
  def bad = @bad ||= (0...MESSAGES).select { |number| number % 101 == 7 }

  # Keys keep their partition.
  def produce(numbers)
    feed("orders", numbers.map { |n| ["k#{n % KEYS}", n.to_s, n % PARTITIONS] })
  end

  def disturb(step)
    size = MESSAGES / STEPS
    produce((step * size)...(step == STEPS - 1 ? MESSAGES : (step + 1) * size))
    @swarm.follow_for(0.2 + @random.rand)
    (step % 3).zero? ? change : kill
  end

  def change
    case (@changes = @changes.to_i + 1) % 5
    when 1 then @swarm.signal(:USR2) && @swarm.await("restart_finished")
    when 2 then command("scale", "3") && @swarm.await("node_assigned")
    when 3 then command("scale", "2") && @swarm.await("node_exited")
    when 4 then command("reload")
    else
      must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
      @swarm = start
    end
  end

  def command(*words)
    failure = @swarm.skep(*words)
    must("#{words.join(" ")}, not #{failure}") { failure.nil? }
    true
  end

  def kill
    node = @swarm.status("model")["nodes"].select { |one| one["state"] == "ready" }
                 .sample(random: @random) or return
    @swarm.kill(node["pid"])
    @kills[node["pid"]] = Skep::OS.now
    @swarm.await("node_ready") do |event|
      event["node"] == node["id"] && event["pid"] != node["pid"]
    end
  end

  # Produces more while messages fail: a message becomes a dead letter once others have succeeded.
  def await_end
    extra = MESSAGES
    @swarm.follow("every message is processed or a dead letter", seconds: 120) do
      produce(extra...(extra += FILL)) if extra < MESSAGES + (200 * FILL)
      @swarm.follow_for(0.3)
      AttemptLog.new(log, @kills).then do |found|
        (0...MESSAGES).all? { |n| bad.include?(n) || found.done(found.of(n)).any? }
      end && letters >= bad.size
    end
    @extra = extra
  end

  def check
    found = AttemptLog.new(log, @kills)
    failures = bad.map { |number| found.failed(found.of(number)).size }
    puts "#{MESSAGES} messages, #{@kills.size} kills: #{found.twice} processed twice; " \
         "#{bad.size} dead letters, tried #{failures.tally.sort.to_h}"
    must("have killed #{KILLS} nodes, not #{@kills.size}") { @kills.size == KILLS }
    must("keep the order of each key, not #{found.out_of_order.first(5)}") do
      found.out_of_order.empty?
    end
    must("try bad messages #{MAX_ATTEMPTS} times at least") { failures.min >= MAX_ATTEMPTS }
    must("try none too often: #{shown(found, found.tried_too_often)}") do
      found.tried_too_often.empty?
    end
    must("repeat only what a kill explains: #{shown(found, found.repeated)}") do
      found.repeated.empty?
    end
  end

  def shown(found, numbers)
    numbers.first(3).to_h { |number| [number, found.of(number).map(&:to_a)] }
  end

  def replay
    File.write(mended, "")
    done = dead("replay").first
    must("replay all, not #{done}") { done["replayed"] >= bad.size }
    @swarm.follow("replayed messages are processed") do
      found = AttemptLog.new(log, @kills)
      bad.all? { |number| found.done(found.of(number)).any? }
    end
    must("leave an empty dead letter topic, not #{letters}") { letters.zero? }
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
  end

  def letters = dead("list").sum { |one| one["count"] }

  def dead(command)
    output, error, status = Open3.capture3(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka",
                                           "dead", "dead", command, "--json", "--brokers",
                                           broker.address)
    raise Failed, error unless status.success?

    output.lines.map { |line| JSON.parse(line) }
  end
end

KeyedModel.play { play_out }
