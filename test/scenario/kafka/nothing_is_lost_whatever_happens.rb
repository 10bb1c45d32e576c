# frozen_string_literal: true

# A swarm reads a topic to its end during many disruptions. Nodes, the supervisor and the broker get
# SIGKILL, and nodes get SIGSTOP for longer than the session timeout. The swarm is scaled and
# restarted. One case combines all of these. A program without skep's code compares the topic, as
# kcat reads it, with the handlers' records. Each message was handled, each partition's in order.
# Each key has two messages: a consumer that upserts values ends with the newest one. The number of
# duplicates is printed.
#
#   MESSAGES=1000000 CASE=each ruby test/scenario/kafka/nothing_is_lost_whatever_happens.rb
#
# CASE: names of CASES below, separated by commas, or `each`; SEED: repeats the random choices.
require_relative "scenario"
require_relative "support/disruptions"

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
GENTLE = %w[scaled restarts].freeze # no message is handled twice
NODES = { "scaled" => 1, "two_swarms" => 2 }.freeze
SWARMS = { "two_swarms" => %w[readers others], "frozen" => %w[readers others] }.freeze
CHOSEN = ENV.fetch("CASE", "all")
WORK = LONG ? 40.0 : 4.0 # rough seconds in which all messages are handled
SLOW = { "outages" => 40.0, "two_swarms" => 40.0, "frozen" => 40.0 }.freeze # WORK of a case
APART = [MESSAGES / 10, 1].max # messages between the two messages of a key

class NothingLost < KafkaScenario
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
    disruptions = disrupt(name, Random.new(seed))
    File.unlink("#{@place}/slow")
    follow(disruptions, MESSAGES)
    await_commits(name, disruptions)
    disruptions.swarms.each do |swarm|
      swarm.follow("the supervisor handles signals") { swarm.events.any? } # it may be a new one
      must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    end
    check(name, disruptions, Skep::OS.now - began)
  end

  private

  # Applies one disruption after each share of the messages, so that each happens during work.
  def disrupt(name, random)
    File.write("#{@place}/slow", "")
    swarms = SWARMS.fetch(name, ["readers"])
    disruptions = Disruptions.new(broker, random, swarms) do |swarm|
      place = File.join(@place, swarm).tap { |path| FileUtils.mkdir_p(path) }
      run_swarm(source(name, swarm), in_directory: place)
    end
    disruptions.swarms.each { |swarm| swarm.await("node_assigned") }
    plan = name == "all" ? CASES[name].shuffle(random:) : CASES[name]
    plan.each.with_index(1) do |disruption, number|
      follow(disruptions, MESSAGES * number / (plan.size + 1))
      disruptions.apply(disruption)
    end
    disruptions
  end

  # Waits until this number of different messages is handled. Ends disruptions when they are due.
  def follow(disruptions, count)
    deadline = Skep::OS.now + Patience.of(120)
    while count_handled < count
      disruptions.end_due
      must("continue: #{@count} of #{count} are handled; #{disruptions.swarm.account}") do
        Skep::OS.now < deadline
      end
      disruptions.swarms.each { |swarm| swarm.read(Skep::OS.now + 0.05) }
    end
    disruptions.end_due(all: count == MESSAGES)
  end

  # Waits until the group has committed all messages. Although each message was handled, a partition
  # may still be redelivering messages after a crash or an outage. A swarm that stops then has
  # handled an older message of some keys last, and would redeliver the rest in its next run.
  def await_commits(group, disruptions)
    deadline = Skep::OS.now + Patience.of(120)
    until (offsets = committed(group, "orders", PARTITIONS)) == MESSAGES
      must("commit all messages: #{offsets} of #{MESSAGES}; #{disruptions.swarm.account}") do
        Skep::OS.now < deadline
      end
      disruptions.swarms.each { |swarm| swarm.read(Skep::OS.now + 0.05) }
    end
  end

  # Returns the number of different handled messages. Reads only records that are new since the last
  # call.
  def count_handled
    Dir.glob("#{@place}/done.*").each do |path|
      text = File.binread(path, nil, @read[path]).to_s
      @read[path] += text.bytesize - (text.bytesize % RECORD)
      text.unpack("x24Q>" * (text.bytesize / RECORD)).each { |id| @seen[id] = true }
    end
    @count = @seen.count(true)
  end

  def check(name, disruptions, seconds)
    kcat = %W[kcat -C -b #{broker.address} -t orders -e -q -f #{'%p %o %s\n'}]
    program = [RbConfig.ruby, "#{__dir__}/support/record_checker.rb", @place]
    output, = Open3.pipeline_r(kcat, program) { |out, _| out.read }
    result = JSON.parse(output)
    puts "#{name}: #{line(result)}, #{seconds.round} s, after #{disruptions.counts}"
    must("have all messages in the topic: #{result}") { result["messages"] == MESSAGES }
    must("lose no message and keep the order: #{result}") do
      result.values_at("lost", "disorder", "wrong", "stale").all?(0)
    end
    must("handle no message twice: #{result}") do
      !GENTLE.include?(name) || result["duplicates"].zero?
    end
  end

  def line(result) = result.map { |what, number| "#{number} #{what}" }.join(", ")

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

NothingLost.play do
  seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000))
  puts "seed #{seed}"
  fill
  must("find kcat (Debian's package kcat)") { system("kcat", "-V", out: File::NULL) }
  names = CHOSEN == "each" ? CASES.keys : CHOSEN.split(",")
  names.each { |name| try(name, seed) }
end
