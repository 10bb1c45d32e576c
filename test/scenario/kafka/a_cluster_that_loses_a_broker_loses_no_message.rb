# frozen_string_literal: true

# Three brokers go down and return, one after the other. First the partitions' leader, the groups'
# coordinator and the transactions' coordinator are killed. Then one broker hangs, and each broker
# is restarted, as in an upgrade. Meanwhile three groups read: a plain one, one with KIP-848
# assignment, and one with transactions. The other brokers serve all messages that are produced
# while a broker is down. No node is replaced, and none reports the cluster as lost.
#
# Programs without skep's code compare the topic, as kcat reads it, with the handlers' records and
# outputs. No message is lost, each partition's order is kept, and each transactional output exists
# once. The number of duplicates is printed.
#
#   CASE=leader,coordinator MESSAGES=5000 ruby test/scenario/kafka/a_cluster_that_loses_…
#
# CASE: names of CASES below; MESSAGES: the number of messages for each disruption; SOCKET_MS: the
# consumers' socket.timeout.ms.
require_relative "scenario"
require_relative "support/cluster"
require "open3"

class BrokerLosses < KafkaScenario
  LEADER, COORDINATOR, TRANSACTIONS = 1, 2, 3
  CASES = { "leader" => [[:kill, LEADER]], "coordinator" => [[:kill, COORDINATOR]],
            "transactions" => [[:kill, TRANSACTIONS]], "hangs" => [[:hang, LEADER]],
            "restarts" => [[:stop, LEADER], [:stop, COORDINATOR], [:stop, TRANSACTIONS]] }.freeze
  CHOSEN = ENV.fetch("CASE", "coordinator,transactions,hangs,restarts").split(",")
  EACH = Integer(ENV.fetch("MESSAGES", "400"))
  SOCKET_MS = Integer(ENV.fetch("SOCKET_MS", "3000")) # librdkafka's default is 60000
  PARTITIONS, NODES = 6, 2
  GROUPS = %w[plain assigned exact].freeze
  RECORD = 32 # bytes

  def play_out
    build
    @swarm = run_swarm(source, in_directory: directory)
    @swarm.await("node_assigned", times: GROUPS.size * NODES, seconds: 60)
    CHOSEN.flat_map { |name| CASES.fetch(name) }.each { |action, id| disrupt(action, id) }
    stop_swarm
    GROUPS.each { |group| check_records(group) }
  end

  private

  def cluster
    @cluster ||= begin
      place = File.join(directory, "cluster").tap { |path| Dir.mkdir(path) }
      Cluster.new(place).tap { |cluster| at_end { cluster.close } }
    end
  end
  alias broker cluster

  # Creates the topics, so that each broker has one role: leader, coordinator of groups, or
  # coordinator of transactions.
  def build
    internal = { "cleanup.policy": "compact", "segment.bytes": 1 << 20 }
    cluster.topic("__consumer_offsets", leader: COORDINATOR, partitions: 4, **internal)
    cluster.topic("__transaction_state", leader: TRANSACTIONS, partitions: 4, **internal)
    ["orders", *GROUPS.map { |group| "#{group}.out" }].each do |name|
      cluster.topic(name, leader: LEADER, partitions: PARTITIONS)
    end
    GROUPS.each { |group| Dir.mkdir("#{directory}/#{group}") }
    @produced = 0
    @read = Hash.new(0)
    @seen = GROUPS.to_h { |group| [group, {}] }
  end

  # Produces half of the messages before the disruption, and half while the broker is down.
  def disrupt(action, id)
    began = Skep::OS.now
    produce(EACH / 2)
    cluster.public_send(action, id)
    produce(EACH / 2)
    await_handled
    continued = Skep::OS.now - began
    action == :hang ? cluster.resume(id) : cluster.start(id)
    cluster.await("healthy cluster") { cluster.healthy? }
    puts format("%-4s %d: continued after %.1f s, healthy after %.1f s", action, id, continued,
                Skep::OS.now - began)
  end

  def produce(count)
    ids = @produced...(@produced += count)
    feed("orders", ids.map { |id| ["k#{id}", %({"id":#{id}}), id % PARTITIONS] })
  end

  def await_handled
    @swarm.follow("each group has handled #{@produced}", seconds: 180) do
      handled.values.all?(@produced)
    end
  rescue Failed => e
    raise Failed, "#{e.message}; handled: #{handled}"
  end

  # Returns the number of different messages that each group has handled.
  def handled
    GROUPS.to_h { |group| [group, read_records(group).size] }
  end

  def read_records(group)
    Dir.glob("#{directory}/#{group}/done.*").each do |path|
      text = File.binread(path, nil, @read[path]).to_s
      @read[path] += text.bytesize - (text.bytesize % RECORD)
      text.unpack("x24Q>" * (text.bytesize / RECORD)).each { |id| @seen[group][id] = true }
    end
    @seen[group]
  end

  def stop_swarm
    @swarm.follow("no lag is left") { lags.all?(0) }
    counts = @swarm.events.map { |event| event["event"] }.tally
    must("replace no node: #{counts}, #{@swarm.account}") do
      @swarm.nodes.size == GROUPS.size * NODES
    end
    must("log no kafka_disconnected: #{counts}") { !counts.key?("kafka_disconnected") }
    must("suspect no message: #{counts}") { counts.keys.grep(/isolated|quarantined/).empty? }
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    puts "events: #{counts.select { |name, _| name.match?(/kafka|handler/) }}"
  end

  def lags
    GROUPS.map { |group| Skep::Kafka.lag(group, { "bootstrap.servers": cluster.address })[:lag] }
  end

  def check_records(group)
    program = [RbConfig.ruby, "#{__dir__}/support/record_checker.rb", "#{directory}/#{group}"]
    output, = Open3.pipeline_r(kcat("orders", "%p %o %s"), program) { |out, _| out.read }
    result = JSON.parse(output)
    puts "#{group}: #{result.map { |what, number| "#{number} #{what}" }.join(", ")}"
    must("lose no message and keep the order: #{result}") do
      result.values_at("messages", "lost", "disorder", "wrong") == [@produced, 0, 0, 0]
    end
    check_outputs(group)
  end

  # Committed outputs become visible once the transactions' coordinator, which may have just
  # returned, has written its markers to the partitions' leaders.
  def check_outputs(group)
    found = outputs(group)
    late = @produced - found.uniq.size
    puts "#{group}: #{late} outputs weren't visible at once" unless late.zero?
    cluster.await("complete and ordered outputs of the group #{group}") do
      complete = found.uniq.group_by(&:first) == expected
      complete.tap { found = outputs(group) unless complete }
    end
    duplicates = found.size - found.uniq.size
    puts "#{group}: #{found.size} outputs, #{duplicates} of them duplicates"
    must("write each transactional output once") { group != "exact" || duplicates.zero? }
  end

  def outputs(group)
    text, = Open3.capture2(*kcat("#{group}.out", "%p %s"))
    text.lines.map { |line| line.split.map(&:to_i) }
  end

  def kcat(topic, format)
    ["kcat", "-C", "-b", cluster.address, "-t", topic, "-e", "-q", "-f", "#{format}\n",
     "-X", "isolation.level=read_committed"]
  end

  def expected
    (0...@produced).map { |id| [id % PARTITIONS, id] }.group_by(&:first)
  end

  def source
    <<~RUBY
      require "skep/kafka"
      require "json"
      def moment = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      kafka = { "bootstrap.servers": "#{cluster.address}", "socket.timeout.ms": #{SOCKET_MS} }
      Skep.swarm "readers", stop_timeout: 20 do |swarm|
        work = lambda do |group, more = {}, **how|
          source = Skep::Kafka::Source.new(kafka: { **kafka, **more }, topics: "orders", group:, threads: 2,
                                           max_messages: 20, commit_interval: 0.5, **how)
          swarm.work(source, nodes: #{NODES}) do |batch, node|
            file = Thread.current[:file] ||= File.open("\#{__dir__}/\#{group}/done.\#{Process.pid}.\#{moment}", "ab")
            batch.each do |message|
              id = JSON.parse(message.payload)["id"]
              node.producer.produce("\#{group}.out", id.to_s, partition: message.partition)
              file.syswrite([moment, message.partition, Process.pid, message.offset, id].pack("Q>L>L>Q>Q>"))
            end
            IO.select(nil, nil, nil, 0.02) # so that the broker goes down during a batch
          end
        end
        work.call("plain")
        work.call("assigned", { "group.protocol": "consumer" })
        work.call("exact", transactional: true)
      end
    RUBY
  end
end

BrokerLosses.play do
  obstacle = Cluster.obstacle
  missing obstacle if obstacle
  play_out
end
