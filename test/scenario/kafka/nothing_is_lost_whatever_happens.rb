# frozen_string_literal: true

# A topic is read to its end while harm is done all along: SIGKILLs for nodes, for the supervisor
# (which is run again at once), for the broker; nodes stopped past their session's end; scaling;
# rolling restarts; all of it at once. A program of its own compares what lies in the topic, as kcat
# reads it, with what the handlers wrote: each message was handled, each partition's in order. Each
# key is written twice: whoever keeps the last value handled, as an upsert does, has the newest one.
# How many came twice is printed.
#
#   MESSAGES=1000000 CASE=each ruby test/scenario/kafka/nothing_is_lost_whatever_happens.rb
#
# CASE is one of those below, several with commas, or `each`; SEED makes the choices again.
require_relative "scenario"
require_relative "support/deeds"

MESSAGES = Integer(ENV.fetch("MESSAGES", "10000"))
LONG = MESSAGES > 100_000
LOAD = LONG ? 3 : 1
CASES = {
  "nodes" => [:kill] * (10 * LOAD),
  "supervisor" => [:supervisor] * (2 * LOAD),
  "broker" => [:broker] * LOAD,
  "stopped" => [:stop] * (2 * LOAD),
  "scaled" => [[:scale, 8], [:scale, 2], [:scale, 1], [:scale, 8], [:scale, 2]],
  "restarts" => [:restart] * (1 + LOAD),
  "outages" => [[:outage, 15]] * 2,
  "two_swarms" => [[:outage, 15]] * 2,
  "frozen" => [:stop] * 4,
  "all" => [*[:kill] * 4, :supervisor, :broker, :stop, :restart] * LOAD + [[:scale, 8], [:scale, 2]]
}.freeze
GENTLE = %w[scaled restarts].freeze # nothing is done twice
NODES = { "scaled" => 1, "two_swarms" => 2 }.freeze
SWARMS = { "two_swarms" => %w[readers others], "frozen" => %w[readers others] }.freeze
CHOSEN = ENV.fetch("CASE", "all")
WORK = LONG ? 40.0 : 4.0 # seconds that all messages take, roughly
SLOW = { "outages" => 40.0, "two_swarms" => 40.0, "frozen" => 40.0 }.freeze # the same
APART = [MESSAGES / 10, 1].max # messages between the two of a key

class Matrix < KafkaScenario
  PARTITIONS = 8
  RECORD = 32 # bytes

  def fill
    topic("orders", PARTITIONS)
    text = "x" * 70
    feed("orders", (0...MESSAGES).lazy.map do |id|
      ["k#{key(id)}", %({"id":#{id},"key":#{key(id)},"text":"#{text}"})]
    end)
  end

  def key(id) = (id / (2 * APART) * APART) + (id % APART)

  def try(name, seed)
    @place = File.join(directory, "case.#{name}").tap { |path| Dir.mkdir(path) }
    @read = Hash.new(0)
    @seen = Array.new(MESSAGES, false)
    began = Skep::OS.now
    deeds = harm(name, Random.new(seed))
    File.unlink("#{@place}/slow")
    follow(deeds, MESSAGES)
    await_commits(name, deeds)
    deeds.swarms.each do |swarm|
      swarm.follow("it hears signals") { swarm.events.any? } # it may have just been started again
      must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    end
    judge(name, deeds, Skep::OS.now - began)
  end

  private

  # One deed after each share of the messages, so that all of them find work.
  def harm(name, random)
    File.write("#{@place}/slow", "")
    swarms = SWARMS.fetch(name, ["readers"])
    deeds = Deeds.new(broker, random, swarms) do |swarm|
      place = File.join(@place, swarm).tap { |path| FileUtils.mkdir_p(path) }
      run_swarm(source(name, swarm), in_directory: place)
    end
    deeds.swarms.each { |swarm| swarm.await("node_assigned") }
    plan = name == "all" ? CASES[name].shuffle(random:) : CASES[name]
    plan.each.with_index(1) do |deed, number|
      follow(deeds, MESSAGES * number / (plan.size + 1))
      deeds.do(deed)
    end
    deeds
  end

  # Until so many different messages are done; what lasts is ended in time.
  def follow(deeds, count)
    deadline = Skep::OS.now + 120
    while look < count
      deeds.finish
      must("get on: #{@count} of #{count} are done; #{deeds.swarm.account}") do
        Skep::OS.now < deadline
      end
      deeds.swarms.each { |swarm| swarm.read(Skep::OS.now + 0.05) }
    end
    deeds.finish(all: count == MESSAGES)
  end

  # Waits until the group has committed all messages. Once each message was handled, a partition may
  # still be in the middle of a redelivery after a death or an outage. A swarm that stops there has
  # handled an older message of some keys last; it goes on with the rest when it is started again.
  def await_commits(group, deeds)
    deadline = Skep::OS.now + 120
    until (done = committed(group, "orders", PARTITIONS)) == MESSAGES
      must("commit all: #{done} of #{MESSAGES}; #{deeds.swarm.account}") do
        Skep::OS.now < deadline
      end
      deeds.swarms.each { |swarm| swarm.read(Skep::OS.now + 0.05) }
    end
  end

  # How many messages are done, going by what has been written since the last look.
  def look
    Dir.glob("#{@place}/done.*").each do |path|
      text = File.binread(path, nil, @read[path]).to_s
      @read[path] += text.bytesize - (text.bytesize % RECORD)
      text.unpack("x24Q>" * (text.bytesize / RECORD)).each { |id| @seen[id] = true }
    end
    @count = @seen.count(true)
  end

  def judge(name, deeds, seconds)
    kcat = %W[kcat -C -b #{broker.address} -t orders -e -q -f #{'%p %o %s\n'}]
    program = [RbConfig.ruby, "#{__dir__}/support/judge.rb", @place]
    said, = Open3.pipeline_r(kcat, program) { |out, _| out.read }
    verdict = JSON.parse(said)
    puts "#{name}: #{line(verdict)}, #{seconds.round} s, after #{deeds.told}"
    must("have all: #{verdict}") { verdict["messages"] == MESSAGES }
    must("lose nothing, keep the order: #{verdict}") do
      verdict.values_at("lost", "disorder", "wrong", "stale").all?(0)
    end
    must("do nothing twice: #{verdict}") { !GENTLE.include?(name) || verdict["duplicates"].zero? }
  end

  def line(verdict) = verdict.map { |what, number| "#{number} #{what}" }.join(", ")

  def source(name, swarm)
    <<~RUBY
      require "skep/kafka"
      require "json"
      kafka = { "bootstrap.servers": "#{broker.address}", "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 1000 }
      source = Skep::Kafka::Source.new(kafka:, group: "#{name}", topics: "orders", threads: 4,
                                       max_messages: 200, commit_interval: 0.5, connect_timeout: 120)
      Skep.swarm "#{swarm}", nodes: #{NODES.fetch(name, 4)}, max_restarts: 1_000, boot_timeout: 150 do |swarm|
        swarm.on_boot do
          moment = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          @done = File.open("#{@place}/done.\#{Process.pid}.\#{moment}", "ab")
        end
        swarm.work(source) do |batch, node|
          slow = File.exist?("#{@place}/slow")
          batch.each.with_index(1) do |message, number|
            id = JSON.parse(message.payload)["id"]
            moment = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
            @done.syswrite([moment, message.partition, Process.pid, message.offset, id].pack("Q>L>L>Q>Q>"))
            IO.select(nil, nil, nil, #{20 * SLOW.fetch(name, WORK) * PARTITIONS / MESSAGES}) if slow && (number % 20).zero?
          end
        end
      end
    RUBY
  end
end

Matrix.play do
  seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000))
  puts "seed #{seed}"
  fill
  must("find kcat, of Debian's package of that name") { system("kcat", "-V", out: File::NULL) }
  names = CHOSEN == "each" ? CASES.keys : CHOSEN.split(",")
  names.each { |name| try(name, seed) }
end
