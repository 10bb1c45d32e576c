# frozen_string_literal: true

require_relative "../scenario"
require_relative "support/broker_template"
require "skep/kafka"

# Helpers for scenarios that run against a real Kafka. Each scenario has its own broker, which the
# program in SKEP_KAFKA_BROKER starts (start DIR PORT, stop DIR, kill DIR). Swarms read from it and
# write one line for each handled message to a file.
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
  # A real broker with its own directory.
  class Broker
    PROGRAM = ENV["SKEP_KAFKA_BROKER"]
    SECONDS = 90 # times Patience; the program's own timeout is shorter
    BOOT_SECONDS = 60

    attr_reader :port

    def initialize(directory)
      @directory = directory
      @port = free_port
      BrokerTemplate.copy(directory, @port)
      start
    end

    def address = "127.0.0.1:#{port}"

    # On a busy machine the broker may need longer to boot than the program waits.
    def start
      command("start", @port.to_s)
    rescue Scenario::Failed => e
      warn "the broker on port #{@port} needs longer: #{e.message}"
      raise unless accepts_connections_later?
    end

    def stop = command("stop")
    def kill = command("kill")

    # Kills the broker, unless a failed scenario has already stopped it.
    def finish
      kill
    rescue Scenario::Failed => e
      warn e.message
    end

    # Replaces the configuration by the block's result and restarts the broker.
    def reconfigure
      kill
      path = File.join(@directory, "server.properties")
      File.write(path, yield(File.read(path)))
      start
    end

    private

    # Returns the first of three free ports: the program uses the second one, too, and some
    # scenarios the third. They are below the kernel's range of ephemeral ports.
    def free_port
      port = Random.rand(10_000..32_000)
      (port..port + 2).each { |one| TCPServer.new("127.0.0.1", one).close }
      port
    rescue Errno::EADDRINUSE
      retry
    end

    # Returns false if the broker exits, or if it is still booting at the deadline.
    def accepts_connections_later?
      pidfd = Skep.pidfd(Integer(File.read(File.join(@directory, "broker.pid"))))
      deadline = Skep::OS.now + Patience.of(BOOT_SECONDS)
      until accepts_connections?
        return false if Skep::OS.now > deadline || pidfd.wait(timeout: 0.25)
      end
      true
    rescue Errno::ENOENT, Errno::ESRCH # the broker never started, or has exited
      false
    ensure
      pidfd&.close
    end

    def accepts_connections?
      Socket.tcp("127.0.0.1", port, connect_timeout: 1).close
      true
    rescue SystemCallError
      false
    end

    def command(verb, *rest)
      out = File.join(@directory, "#{verb}.out")
      pid = Process.spawn(PROGRAM, verb, @directory, *rest, out:, err: out, pgroup: true)
      pidfd = Skep.pidfd(pid)
      status = pidfd.wait(timeout: Patience.of(SECONDS))
      raise Scenario::Failed, "the broker didn't #{verb}: #{File.read(out)}" unless status&.success?
    ensure
      pidfd&.close
    end
  end

  def self.play(&)
    return super if Broker::PROGRAM || embedded?

    super() { missing "SKEP_KAFKA_BROKER, a program that starts a broker" }
  end

  # Returns true if the scenario uses an embedded broker instead.
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

  # Deletes the topic and creates it again, with a partition.
  def recreate(topic)
    require "rdkafka"
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.delete_topic(topic).wait(max_wait_timeout: Patience.of(SECONDS))
    begin
      admin.create_topic(topic, 1, 1).wait(max_wait_timeout: Patience.of(SECONDS))
    rescue Rdkafka::RdkafkaError => e
      raise unless e.code == :topic_already_exists # the deletion isn't complete

      retry
    end
  ensure
    admin&.close
  end

  def feed(topic, items) = seed(topic) { |seeder| seeder.publish(items) }

  # Returns the partitions of each node, as [topic, partition], from its last kafka_rebalance event.
  def held(swarm)
    swarm.events.each_with_object({}) do |event, held|
      held[event["pid"]] = event["held"] if event["event"] == "kafka_rebalance"
      held.delete(event["pid"]) if GONE.include?(event["event"])
    end.values.map { |topics| topics.flat_map { |topic, numbers| numbers.map { |n| [topic, n] } } }
  end

  # Waits until exactly this number of nodes have partitions assigned, and each partition is
  # assigned once in each group. groups: the number of consumer groups.
  def await_assignment(partitions, *swarms, nodes:, groups: 1, seconds: SECONDS)
    swarms.first.follow("#{nodes} nodes share #{partitions} partitions", seconds:) do
      swarms.drop(1).each { |swarm| nil while swarm.read(Skep::OS.now) }
      all = swarms.flat_map { |swarm| held(swarm) }.reject(&:empty?)
      all.size == nodes && all.flatten(1).tally.values == [groups] * partitions
    end
  end

  # Returns how often partitions were assigned to, or revoked from, a node of the swarm.
  def rebalances(swarm)
    swarm.events.count { |event| event["event"] == "kafka_rebalance" && event["partitions"].any? }
  end

  # Returns the group's generation (with KIP-848, its epoch) from the broker's last record of the
  # group. It grows with each rebalance.
  def generation(group)
    records = read("__consumer_offsets", partition: offsets_partition(group))
    records.reverse_each do |record|
      version, size = record[:key].unpack("s>s>")
      next unless [2, 3].include?(version) && record[:key][4, size] == group && record[:payload]

      type = record[:payload].unpack1("x2s>") # length of the protocol type, in version 2
      return record[:payload].unpack1("l>", offset: version == 2 ? 4 + type : 2)
    end
    raise Failed, "none of the broker's #{records.size} records is about the group #{group}"
  end

  # Returns the sum of the group's committed offsets over all partitions. Returns nil while a
  # transaction is being committed, or while the group has no coordinator.
  def committed(group, topic, partitions)
    consumer = rdkafka_consumer(topic, 0, group:)
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(topic, (0...partitions).to_a)
    consumer.committed(list, 30_000).to_h.fetch(topic).sum { |partition| partition.offset || 0 }
  rescue Rdkafka::RdkafkaError => e
    raise unless %i[timed_out not_coordinator coordinator_load_in_progress].include?(e.code)
  ensure
    consumer&.close
  end

  # Returns all messages of a topic's partition, read with rdkafka.
  def read(topic, partition: 0)
    consumer = rdkafka_consumer(topic, partition)
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

  # Returns the payloads of a topic's committed messages, up to the first open transaction. Reads
  # with rdkafka.
  def read_committed(topic, partitions)
    consumer = rdkafka_consumer(topic, 0...partitions, "isolation.level" => "read_committed",
                                                       "enable.partition.eof" => true)
    found = []
    ends = 0
    ends += 1 while ends < partitions && read_to_end(consumer) { |one| found << one.payload }
    found
  ensure
    consumer&.close
  end

  def file = File.join(directory, "done")

  # Returns a swarm file whose handler writes "node topic/partition/offset key" for each message.
  # more: Ruby for the source's options; body: Ruby for the handler.
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

  # Waits until the handlers have written this number of different keys.
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

  # Returns the partition of __consumer_offsets for a group: Java's hash of the group's name.
  def offsets_partition(group)
    hash = group.bytes.inject(0) { |sum, byte| ((sum * 31) + byte) & 0xffffffff }
    [hash].pack("L").unpack1("l").abs % OFFSETS_PARTITIONS
  end

  OFFSETS_PARTITIONS = 4 # offsets.topic.num.partitions
  private_constant :OFFSETS_PARTITIONS

  def rdkafka_consumer(topic, partitions, group: "reader#{Process.pid}", **settings)
    require "rdkafka"
    consumer = Rdkafka::Config.new("bootstrap.servers" => broker.address, "group.id" => group,
                                   "auto.offset.reset" => "earliest",
                                   "enable.auto.commit" => false, **settings).consumer
    list = Rdkafka::Consumer::TopicPartitionList.new
    list.add_topic(topic, Array(partitions))
    consumer.tap { consumer.assign(list) }
  end

  # Yields messages until the consumer reaches the end of a partition. Returns nil at the deadline.
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
