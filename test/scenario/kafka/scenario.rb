# frozen_string_literal: true

require_relative "../scenario"
require "skep/kafka"

# What scenarios on a real Kafka share: a broker of their own, started by the program that
# SKEP_KAFKA_BROKER names (start DIR PORT, stop DIR, kill DIR), swarms that read from it, and a
# file in which each handled message is a line.
#
#   KafkaScenario.play do
#     topic = topic("orders", 8)
#     swarm = run_swarm(reader(topic, nodes: 3))
#     feed(topic, (0...1_000).map { |n| [n.to_s, "v"] })
#     await_keys(1_000)
#   end
#
# Without SKEP_KAFKA_BROKER a scenario is skipped, unless it overrides `embedded?`.
class KafkaScenario < Scenario
  # A real broker in a directory of its own.
  class Broker
    PROGRAM = ENV["SKEP_KAFKA_BROKER"]
    SECONDS = 90 # in which the program itself gives up
    BOOT_SECONDS = 60

    attr_reader :port

    def initialize(directory)
      @directory = directory
      @port = free_port
      start
    end

    def address = "127.0.0.1:#{port}"

    # On a busy machine the broker may need longer than the program waits for it.
    def start
      command("start", @port.to_s)
    rescue Scenario::Failed => e
      warn "the broker on port #{@port} needs longer: #{e.message}"
      raise unless answers_after_all?
    end

    def stop = command("stop")
    def kill = command("kill")

    # Kills it, unless a scenario that failed had stopped it.
    def finish
      kill
    rescue Scenario::Failed => e
      warn e.message
    end

    # Adds to its configuration and starts it again.
    def reconfigure
      kill
      path = File.join(@directory, "server.properties")
      File.write(path, yield(File.read(path)))
      start
    end

    private

    # The program takes the port after it, too, and a scenario the one after that. Below those that
    # the kernel gives to clients.
    def free_port
      port = Random.rand(10_000..32_000)
      (port..port + 2).each { |one| TCPServer.new("127.0.0.1", one).close }
      port
    rescue Errno::EADDRINUSE # by another program
      retry
    end

    # Returns false if its process has ended, or if it is still booting after that long.
    def answers_after_all?
      pidfd = Skep.pidfd(Integer(File.read(File.join(@directory, "broker.pid"))))
      deadline = Skep::OS.now + Patience.of(BOOT_SECONDS)
      until answers?
        return false if Skep::OS.now > deadline || pidfd.wait(timeout: 0.25)
      end
      true
    rescue Errno::ENOENT, Errno::ESRCH # it has never run, or has ended
      false
    ensure
      pidfd&.close
    end

    def answers?
      Socket.tcp("127.0.0.1", port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end

    def command(verb, *rest)
      out = File.join(@directory, "#{verb}.out")
      pid = Process.spawn(PROGRAM, verb, @directory, *rest, out:, err: out, pgroup: true)
      pidfd = Skep.pidfd(pid)
      status = pidfd.wait(timeout: SECONDS)
      raise Scenario::Failed, "the broker didn't #{verb}: #{File.read(out)}" unless status&.success?
    ensure
      pidfd&.close
    end
  end

  def self.play(&)
    return super if Broker::PROGRAM || embedded?

    super() { missing "SKEP_KAFKA_BROKER, a program that starts a broker" }
  end

  # Returns true if the scenario has an embedded broker instead.
  def self.embedded? = false

  def broker
    @broker ||= begin
      place = File.join(directory, "broker").tap { |path| Dir.mkdir(path) }
      Broker.new(place).tap { |broker| at_end { broker.finish } }
    end
  end

  def topic(name, partitions)
    seed(name) { |seeder| seeder.create_topic(partitions) }
    name
  end

  def feed(topic, items) = seed(topic) { |seeder| seeder.publish(items) }

  # Returns the partitions of each node by its last event, as [topic, partition].
  def held(swarm)
    swarm.events.each_with_object({}) do |event, held|
      held[event["pid"]] = event["held"] if event["event"] == "kafka_rebalance"
      held.delete(event["pid"]) if GONE.include?(event["event"])
    end.values.map { |topics| topics.flat_map { |topic, numbers| numbers.map { |n| [topic, n] } } }
  end

  # Waits until so many nodes of these swarms share so many partitions, each of them having some;
  # groups: as many times as there are groups that read them.
  def share(partitions, *swarms, among:, groups: 1, seconds: SECONDS)
    swarms.first.follow("#{among} share #{partitions} partitions", seconds:) do
      swarms.drop(1).each { |swarm| nil while swarm.read(Skep::OS.now) }
      all = swarms.flat_map { |swarm| held(swarm) }.reject(&:empty?)
      all.size == among && all.flatten(1).tally.values == [groups] * partitions
    end
  end

  # Returns how often partitions were assigned to a node of the swarm, or revoked.
  def rebalances(swarm)
    swarm.events.count { |event| event["event"] == "kafka_rebalance" && event["partitions"].any? }
  end

  # Returns how often the broker has changed the assignment of a group: the generation in its last
  # record of it, or the epoch with the protocol of KIP-848.
  def generation(group)
    records = read("__consumer_offsets", partition: offsets_partition(group))
    records.reverse_each do |record|
      version, size = record[:key].unpack("s>s>")
      next unless [2, 3].include?(version) && record[:key][4, size] == group && record[:payload]

      type = record[:payload].unpack1("x2s>") # the length of a text, in the older ones
      return record[:payload].unpack1("l>", offset: version == 2 ? 4 + type : 2)
    end
    raise Failed, "none of the broker's #{records.size} records is of the group #{group}"
  end

  # The offsets a group has committed, of all partitions together; nil where transactions that are
  # being committed keep the broker from telling, or the group has no coordinator yet.
  def committed(group, topic, partitions)
    consumer = reader_of(topic, 0, group:)
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(topic, (0...partitions).to_a)
    consumer.committed(list, 10_000).to_h.fetch(topic).sum { |partition| partition.offset || 0 }
  rescue Rdkafka::RdkafkaError => e
    raise unless %i[timed_out not_coordinator coordinator_load_in_progress].include?(e.code)
  ensure
    consumer&.close
  end

  # All messages of a topic's partition, read without skep.
  def read(topic, partition: 0)
    consumer = reader_of(topic, partition)
    first, last = consumer.query_watermark_offsets(topic, partition)
    deadline = Skep::OS.now + Patience.of(SECONDS)
    found = []
    while found.size < last - first && Skep::OS.now < deadline
      consumer.poll(1_000)&.then { |message| found << message }
    end
    found.map { |one| { key: one.key, payload: one.payload, headers: one.headers } }
  ensure
    consumer&.close
  end

  # What the messages say that are in a topic and that count: those of transactions that were
  # committed. Read without skep, to where the first open transaction begins.
  def transacted(topic, partitions)
    consumer = reader_of(topic, 0...partitions, "isolation.level" => "read_committed",
                                                 "enable.partition.eof" => true)
    found = []
    ends = 0
    ends += 1 while ends < partitions && read_to_end(consumer) { |one| found << one.payload }
    found
  ensure
    consumer&.close
  end

  def file = File.join(directory, "done")

  # A swarm that writes "node topic/partition/offset key" of each message; `more` is Ruby for the
  # source, `body` for the handler.
  def reader(topic, nodes: 2, group: "readers", more: "", kafka: {}, body: "", options: "")
    <<~RUBY
      require "skep/kafka"
      Skep.swarm "readers", nodes: #{nodes}, stop_timeout: 20 #{options} do |swarm|
        source = Skep::Kafka::Source.new(kafka: #{{ "bootstrap.servers" => broker.address, **kafka }.inspect},
                                         group: #{group.inspect}, topics: #{topic.inspect} #{more})
        swarm.work(source) do |batch, node|
          #{body}
          lines = batch.map { |message| "\#{node.id} \#{message.topic}/\#{message.partition}/\#{message.offset} \#{message.key}\\n" }
          File.write(#{file.inspect}, lines.join, mode: "a")
        end
      end
    RUBY
  end

  def lines = File.exist?(file) ? File.readlines(file, chomp: true) : []
  def keys = lines.map { |line| line.split.last.to_i }

  # Waits until so many different keys have been handled.
  def await_keys(count, seconds: SECONDS)
    seconds = Patience.of(seconds)
    deadline = Skep::OS.now + seconds
    watch = IO.popen(["tail", "-n", "+1", "-F", file], err: File::NULL)
    seen = {}
    while seen.size < count
      line = watch.wait_readable([deadline - Skep::OS.now, 0].max) && watch.gets
      raise Failed, "#{seen.size} of #{count} messages handled within #{seconds} s" unless line

      seen[line.split.last] = true
    end
  ensure
    stop_watching(watch)
  end

  private

  def seed(topic)
    timeout = Patience.of(SECONDS)
    seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.address, topic, timeout:)
    yield seeder
  ensure
    seeder&.close
  end

  # Where a group's records are: by Java's hash of its name.
  def offsets_partition(group)
    hash = group.bytes.inject(0) { |sum, byte| ((sum * 31) + byte) & 0xffffffff }
    [hash].pack("L").unpack1("l").abs % OFFSETS_PARTITIONS
  end

  OFFSETS_PARTITIONS = 4 # offsets.topic.num.partitions
  private_constant :OFFSETS_PARTITIONS

  def reader_of(topic, partitions, group: "reader#{Process.pid}", **settings)
    require "rdkafka"
    consumer = Rdkafka::Config.new("bootstrap.servers" => broker.address, "group.id" => group,
                                   "auto.offset.reset" => "earliest",
                                   "enable.auto.commit" => false, **settings).consumer
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(topic, Array(partitions))
    consumer.tap { consumer.assign(list) }
  end

  # Yields what comes until one partition is at its end; false where that takes too long.
  def read_to_end(consumer)
    deadline = Skep::OS.now + Patience.of(SECONDS)
    while Skep::OS.now < deadline
      consumer.poll(1_000)&.then { |message| yield message }
    end
  rescue Rdkafka::RdkafkaError => e
    e.is_partition_eof? || raise
  end

  def stop_watching(watch)
    pidfd = Skep.pidfd(watch.pid)
    pidfd.signal(:TERM)
    pidfd.wait(timeout: 5)
    watch.close
    pidfd.close
  end
end
