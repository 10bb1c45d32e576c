# frozen_string_literal: true

# Three brokers, of which one after the other goes and comes back: killed is who leads the
# partitions, then who coordinates the groups, then who coordinates the transactions; one hangs; all
# three are restarted, as an upgrade does. Three groups read all the while: a plain one, one whose
# members the brokers assign (KIP-848), one that writes by transactions. While a broker is away the
# other two go on: what is fed then is handled before it returns. No node is replaced, and none
# takes the cluster for lost.
#
# Programs that know nothing of skep compare what lies in the topic, as kcat reads it, with what was
# handled and what was written: nothing is lost, each partition's order is kept, outputs of
# transactions are there once. How many others came twice is printed.
#
#   CASE=leader,coordinator MESSAGES=5000 ruby test/scenario/kafka/a_cluster_that_loses_…
#
# CASE is some of those below, MESSAGES how many are fed for each deed, SOCKET_MS how long a broker
# that says nothing is waited for.
require_relative "scenario"
require_relative "support/cluster"
require "open3"

class Losses < KafkaScenario
  LEADER, COORDINATOR, TRANSACTIONS = 1, 2, 3
  CASES = { "leader" => [[:kill, LEADER]], "coordinator" => [[:kill, COORDINATOR]],
            "transactions" => [[:kill, TRANSACTIONS]], "hangs" => [[:hang, LEADER]],
            "restarts" => [[:stop, LEADER], [:stop, COORDINATOR], [:stop, TRANSACTIONS]] }.freeze
  CHOSEN = ENV.fetch("CASE", "coordinator,transactions,hangs,restarts").split(",")
  EACH = Integer(ENV.fetch("MESSAGES", "400"))
  SOCKET_MS = Integer(ENV.fetch("SOCKET_MS", "3000")) # Kafka's clients have 60000
  PARTITIONS, NODES = 6, 2
  GROUPS = %w[plain assigned exact].freeze
  RECORD = 32 # bytes

  def play_out
    build
    @swarm = run_swarm(source, in_directory: directory)
    @swarm.await("node_assigned", times: GROUPS.size * NODES, seconds: 60)
    CHOSEN.flat_map { |name| CASES.fetch(name) }.each { |deed, id| endure(deed, id) }
    conclude
    GROUPS.each { |group| judge(group) }
  end

  private

  def cluster
    @cluster ||= begin
      place = File.join(directory, "cluster").tap { |path| Dir.mkdir(path) }
      Cluster.new(place).tap { |cluster| at_end { cluster.close } }
    end
  end
  alias broker cluster

  # Each broker has an office of its own.
  def build
    internal = { "cleanup.policy": "compact", "segment.bytes": 1 << 20 }
    cluster.topic("__consumer_offsets", leader: COORDINATOR, partitions: 4, **internal)
    cluster.topic("__transaction_state", leader: TRANSACTIONS, partitions: 4, **internal)
    ["orders", *GROUPS.map { |group| "#{group}.out" }].each do |name|
      cluster.topic(name, leader: LEADER, partitions: PARTITIONS)
    end
    GROUPS.each { |group| Dir.mkdir("#{directory}/#{group}") }
    @fed = 0
    @read = Hash.new(0)
    @seen = GROUPS.to_h { |group| [group, {}] }
  end

  # Half of the messages come before it, half while the broker is away.
  def endure(deed, id)
    began = Skep::OS.now
    give(EACH / 2)
    cluster.public_send(deed, id)
    give(EACH / 2)
    handled
    gone_on = Skep::OS.now - began
    deed == :hang ? cluster.go_on(id) : cluster.start(id)
    cluster.await("cluster as it was before") { cluster.whole? }
    puts format("%-4s %d: went on after %.1f s, whole after %.1f s", deed, id, gone_on,
                Skep::OS.now - began)
  end

  def give(count)
    ids = @fed...(@fed += count)
    feed("orders", ids.map { |id| ["k#{id}", %({"id":#{id}}), id % PARTITIONS] })
  end

  def handled
    @swarm.follow("each has handled #{@fed}", seconds: 180) { done.values.all?(@fed) }
  rescue Failed => e
    raise Failed, "#{e.message}; done: #{done}"
  end

  # How many different messages each group has handled.
  def done
    GROUPS.to_h { |group| [group, look(group).size] }
  end

  def look(group)
    Dir.glob("#{directory}/#{group}/done.*").each do |path|
      text = File.binread(path, nil, @read[path]).to_s
      @read[path] += text.bytesize - (text.bytesize % RECORD)
      text.unpack("x24Q>" * (text.bytesize / RECORD)).each { |id| @seen[group][id] = true }
    end
    @seen[group]
  end

  def conclude
    @swarm.follow("no lag is left") { lags.all?(0) }
    told = @swarm.events.map { |event| event["event"] }.tally
    must("replace no node: #{told}, #{@swarm.account}") { @swarm.nodes.size == GROUPS.size * NODES }
    must("not take the cluster for lost: #{told}") { !told.key?("kafka_disconnected") }
    must("suspect nothing: #{told}") { told.keys.grep(/suspected/).empty? }
    must("stop with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    puts "told: #{told.select { |name, _| name.match?(/kafka|handler/) }}"
  end

  def lags
    GROUPS.map { |group| Skep::Kafka.lag(group, { "bootstrap.servers": cluster.address })[:lag] }
  end

  def judge(group)
    program = [RbConfig.ruby, "#{__dir__}/support/judge.rb", "#{directory}/#{group}"]
    said, = Open3.pipeline_r(kcat("orders", "%p %o %s"), program) { |out, _| out.read }
    verdict = JSON.parse(said)
    puts "#{group}: #{verdict.map { |what, number| "#{number} #{what}" }.join(", ")}"
    must("lose nothing, keep the order: #{verdict}") do
      verdict.values_at("messages", "lost", "disorder", "wrong") == [@fed, 0, 0, 0]
    end
    judge_outputs(group)
  end

  # What a transaction has committed is shown once its coordinator, who may have come back only just
  # now, has told those who lead the partitions.
  def judge_outputs(group)
    found = outputs(group)
    late = @fed - found.uniq.size
    puts "#{group}: #{late} outputs weren't to be seen at once" unless late.zero?
    cluster.await("outputs of #{group}'s, all and in order,") do
      whole = found.uniq.group_by(&:first) == expected
      whole.tap { found = outputs(group) unless whole }
    end
    twice = found.size - found.uniq.size
    puts "#{group}: #{found.size} outputs, #{twice} of them again"
    must("write each output once") { group != "exact" || twice.zero? }
  end

  def outputs(group)
    said, = Open3.capture2(*kcat("#{group}.out", "%p %s"))
    said.lines.map { |line| line.split.map(&:to_i) }
  end

  def kcat(topic, format)
    ["kcat", "-C", "-b", cluster.address, "-t", topic, "-e", "-q", "-f", "#{format}\n",
     "-X", "isolation.level=read_committed"]
  end

  def expected
    (0...@fed).map { |id| [id % PARTITIONS, id] }.group_by(&:first)
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
            IO.select(nil, nil, nil, 0.02) # so that a broker goes while it is at work
          end
        end
        work.call("plain")
        work.call("assigned", { "group.protocol": "consumer" })
        work.call("exact", transactional: true)
      end
    RUBY
  end
end

Losses.play do
  obstacle = Cluster.obstacle
  missing obstacle if obstacle
  play_out
end
