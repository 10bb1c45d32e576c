# frozen_string_literal: true

# Nodes get SIGKILL at random, whatever they do just then, at 500 and at 20,000 messages per second,
# by partition and by key. The commit interval is the default, so that up to five seconds of
# messages aren't committed at each kill. Only what was in progress at a kill is handled again,
# counted one by one; no message is lost, and each key's are handled in order. (KILLS=n for more.)
#
# A node begins a batch with a line of its payloads, and ends it with the number of messages that it
# was given. The last batch of a thread that was killed counts as in progress, also if its end was
# written: its offset may not have been stored yet.
require_relative "scenario"

KILLS = Integer(ENV.fetch("KILLS", "8"))
PARTITIONS = 6
NODES = 3
MOST = 7_500 * KILLS # messages that are written while nodes are killed
TICK = 0.05 # seconds between two writes
RUNS = [500, 20_000].product(%i[partition key]).freeze

# Writes numbers at that rate, until it is stopped or there are enough.
class Feed
  def initialize(seeder, rate)
    @seeder, @each = seeder, (rate * TICK).ceil
    @wait, @waker = IO.pipe
    @count = 0
    @thread = Thread.new { feed }
  end

  def writing? = @thread.alive?

  # Returns how many were written.
  def stop
    @waker.close
    @thread.value
  end

  private

  def feed
    until @count >= MOST
      @seeder.publish((@count...@count + @each).map { |n| ["k#{n % 97}", n.to_s] })
      @count += @each
      break if @wait.wait_readable(TICK)
    end
    @count
  end
end

# A batch that a handler was given. given: how many of its messages; nil: it didn't end.
Handled = Struct.new(:pid, :thread, :at, :numbers, :given) do
  def handled = given ? numbers.first(given) : numbers
end

def swarm_file(name, topic, ordered_by, address)
  <<~RUBY
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{address}", "session.timeout.ms": 240_000 }
    source = Skep::Kafka::Source.new(kafka:, group: "#{name}", topics: ["#{topic}"], threads: 2,
                                     ordered_by: :#{ordered_by}, max_messages: 200)
    Skep.swarm "#{name}", nodes: #{NODES}, max_restarts: 1_000_000, liveness_timeout: 600 do |swarm|
      swarm.on_boot { $log = File.open("\#{__dir__}/handled.\#{Process.pid}", "a") }
      swarm.work(source) do |batch, node|
        thread = Thread.current.object_id
        at = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
        $log.syswrite("b \#{thread} \#{at} \#{batch.map(&:payload).join(",")}\\n")
        given = 0
        batch.each { given += 1 }
        IO.select(nil, nil, nil, rand * 0.01)
        $log.syswrite("e \#{thread} \#{given}\\n")
      end
    end
  RUBY
end

def batches(directory)
  Dir.glob("#{directory}/handled.*").flat_map do |path|
    open = {}
    File.foreach(path).filter_map do |line|
      next unless line.end_with?("\n") # it is being written

      kind, thread, *rest = line.chomp.split
      next open[thread].tap { |batch| batch.given = rest.first.to_i } && nil if kind == "e"

      numbers = rest.last.split(",").map(&:to_i)
      open[thread] = Handled.new(path[/\d+\z/].to_i, thread, rest.first.to_i, numbers)
    end
  end.sort_by(&:at)
end

def handled(directory) = batches(directory).sum { |batch| batch.given.to_i }

# What was in progress at the kills: how often each message.
def in_progress(all, killed)
  last = all.select { |batch| killed.include?(batch.pid) }.group_by { |one| [one.pid, one.thread] }
  last.each_value.flat_map { |some| some.max_by(&:at).numbers }.tally
end

def out_of_order(all)
  seen = {}
  first = all.flat_map(&:handled).reject { |number| seen[number] || !(seen[number] = true) }
  first.group_by { |number| number % 97 }.reject { |_, numbers| numbers == numbers.sort }
end

KafkaScenario.play do
  RUNS.each_with_index do |(rate, ordered_by), index|
    name = "#{ordered_by}-#{rate}"
    place = File.join(directory, name).tap { |path| Dir.mkdir(path) }
    topic = topic(name, PARTITIONS)
    seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.address, topic, timeout: 60)
    swarm = run_swarm(swarm_file(name, topic, ordered_by, broker.address), in_directory: place)
    await_assignment(PARTITIONS, swarm, nodes: NODES)
    generation = generation(name)
    feed = Feed.new(seeder, rate)
    random = Random.new(index)
    ((KILLS + index) / RUNS.size).times do
      before = handled(place)
      swarm.follow("some are handled") { handled(place) >= before + (rate / 5) || !feed.writing? }
      swarm.follow_for(random.rand)
      pid = swarm.status(name)["nodes"].filter_map { |node| node["pid"] }.sample(random:) or redo
      swarm.kill(pid)
    rescue Errno::ESRCH # it was killed just now
      redo
    end
    count = feed.stop
    seeder.close
    swarm.follow("all are handled") do
      batches(place).select(&:given).flat_map(&:handled).uniq.size == count
    end
    must("exit with 0; #{swarm.account}") { swarm.stop(seconds: 60).exitstatus.zero? }

    all = batches(place)
    killed = swarm.events.filter_map { |one| one["pid"] if one["event"] == "node_died" }
    allowed = in_progress(all, killed)
    times = all.flat_map(&:handled).tally
    repeated = times.select { |number, count| count - 1 > allowed.fetch(number, 0) }
    resumed = swarm.events.count { |one| one["event"] == "kafka_progress_resumed" }
    puts "#{rate} messages per second by #{ordered_by}: #{count} messages, #{killed.size} kills, " \
         "#{times.each_value.sum - count} handled twice, #{allowed.each_value.sum} in progress, " \
         "#{resumed} times resumed"
    must("lose no message") { times.size == count }
    must("stay in the generation") { generation(name) == generation }
    must("repeat nothing that was done: #{repeated.first(20)}") { repeated.empty? }
    must("handle each key in order: #{out_of_order(all).first(2)}") { out_of_order(all).empty? }
  end
end
