# frozen_string_literal: true

require "fileutils"
require "securerandom"
require_relative "wire"

# A real Kafka cluster of three brokers, with the ids 1, 2 and 3. Each broker is a controller, too.
# If one broker is killed, the others take over its work: two in-sync replicas are enough.
#
#   cluster = Cluster.new(directory)     # Cluster.obstacle returns why the machine can't run one
#   cluster = Cluster.new(directory, bridge: hosts.address)   # cluster.bridge_address for Hosts
#   cluster.topic("orders", leader: 1, partitions: 8)
#   cluster.kill(1)        # SIGKILL; stop(1): SIGTERM; hang(1): SIGSTOP; resume(1): SIGCONT
#   cluster.start(1)
#   cluster.healthy?       # all replicas in sync, and each partition's preferred leader leads
#   cluster.close
#
# Kafka's classes are found beside the program that SKEP_KAFKA_BROKER names.
class Cluster
  PROGRAM = ENV["SKEP_KAFKA_BROKER"]
  BROKERS = 3
  SECONDS = 60
  # These options make a broker start faster.
  JAVA = %w[java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
            -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote].freeze
  # With these timeouts the cluster detects a dead broker within seconds. (Kafka's defaults: 9000,
  # 2000, 2000, 1000.)
  SETTINGS = {
    "process.roles" => "broker,controller", "controller.listener.names" => "CONTROLLER",
    "listener.security.protocol.map" => "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BRIDGE:PLAINTEXT",
    "broker.session.timeout.ms" => 3000, "broker.heartbeat.interval.ms" => 500,
    "controller.quorum.fetch.timeout.ms" => 1500, "controller.quorum.election.timeout.ms" => 500,
    "default.replication.factor" => BROKERS, "min.insync.replicas" => 2,
    "unclean.leader.election.enable" => false,
    "leader.imbalance.check.interval.seconds" => 1, # restores the preferred leader
    "offsets.topic.replication.factor" => BROKERS, "offsets.topic.num.partitions" => 4,
    "transaction.state.log.replication.factor" => BROKERS, "transaction.state.log.min.isr" => 2,
    "transaction.state.log.num.partitions" => 4, "group.initial.rebalance.delay.ms" => 0,
    "log.cleaner.dedupe.buffer.size" => 4 << 20, "auto.create.topics.enable" => false
  }.freeze

  class << self
    # Returns why this machine can't run a cluster, or nil.
    def obstacle
      return "SKEP_KAFKA_BROKER names no program that starts a broker" unless PROGRAM

      "no libs/kafka_*.jar beside #{PROGRAM}, or in the directory above it" unless classes
    end

    def classes
      here = File.dirname(File.realpath(PROGRAM))
      ["#{here}/libs", "#{here}/../libs"].find { |path| Dir.glob("#{path}/kafka_*.jar").any? }
    end
  end

  attr_reader :ids

  # bridge: another address on which brokers listen.
  def initialize(directory, bridge: nil)
    @directory = directory
    @bridge = bridge
    @ids = (1..BROKERS).to_a
    @ports = free_ports
    @processes = {}
    configure
    ids.each { |id| launch(id) }
    await("a cluster of #{BROKERS}") { Wire.partitions(port(ids.first)) && all_answer? }
  end

  def address(ids = @ids) = ids.map { |id| "127.0.0.1:#{port(id)}" }.join(",")
  def bridge_address = ids.map { |id| "#{@bridge}:#{@ports[id].last}" }.join(",")
  def port(id) = @ports[id].first

  # Creates a topic with a replica on each broker.
  def topic(name, leader:, partitions:, **settings)
    replicas = [leader, *(ids - [leader])]
    Wire.create_topic(port(leader), name, [replicas] * partitions, settings.transform_keys(&:to_s))
  end

  def start(id) = launch(id)

  def kill(id) = finish(id, :KILL)
  def stop(id) = finish(id, :TERM)
  def hang(id) = @processes[id].signal(:STOP)
  def resume(id) = @processes[id].signal(:CONT)

  # Returns the metadata of all partitions, from the first broker that answers.
  def partitions = ask { |port| Wire.partitions(port) }

  def healthy?
    all_answer? && partitions.all? do |one|
      one.in_sync.size == one.replicas.size && one.leader == one.replicas.first
    end
  end

  def await(what, seconds: SECONDS)
    seconds = Patience.of(seconds)
    deadline = Skep::OS.now + seconds
    until nil_without_answer { yield }
      raise Scenario::Failed, "no #{what} within #{seconds} s" if Skep::OS.now > deadline

      IO.select(nil, nil, nil, 0.1)
    end
  end

  def close = @processes.keys.each { |id| kill(id) }

  private

  # Returns three ports for each broker, below the kernel's range of ephemeral ports.
  def free_ports
    first = Random.rand(10_000..32_000)
    numbers = (first...first + (BROKERS * 3)).each do |one|
      TCPServer.new("127.0.0.1", one).close
    end
    ids.zip(numbers.each_slice(3)).to_h
  rescue Errno::EADDRINUSE
    retry
  end

  # Kafka's tool formats the first broker's directory. The others are copies with their own ids.
  def configure
    ids.each { |id| FileUtils.mkdir_p("#{place(id)}/data") }
    ids.each { |id| File.write("#{place(id)}/properties", properties(id)) }
    name = SecureRandom.urlsafe_base64(16)
    system(*JAVA, "-cp", "#{Cluster.classes}/*", "kafka.tools.StorageTool", "format",
           "--cluster-id=#{name}", "-c", "#{place(1)}/properties",
           out: "#{place(1)}/format", err: %i[child out]) or
      raise Scenario::Failed, "no cluster was made: #{File.read("#{place(1)}/format")}"
    ids.drop(1).each { |id| copy(id, name) }
  end

  def copy(id, name)
    FileUtils.cp("#{place(1)}/data/bootstrap.checkpoint", "#{place(id)}/data")
    own = { "version" => 1, "cluster.id" => name, "node.id" => id,
            "directory.id" => SecureRandom.urlsafe_base64(16) }
    File.write("#{place(id)}/data/meta.properties", lines(own))
  end

  def properties(id)
    voters = ids.map { |one| "#{one}@127.0.0.1:#{@ports[one][1]}" }.join(",")
    own = ["PLAINTEXT://127.0.0.1:#{port(id)}",
           *("BRIDGE://#{@bridge}:#{@ports[id].last}" if @bridge)].join(",")
    lines({ **SETTINGS, "node.id" => id, "controller.quorum.voters" => voters,
            "listeners" => "#{own},CONTROLLER://127.0.0.1:#{@ports[id][1]}",
            "advertised.listeners" => own, "log.dirs" => "#{place(id)}/data" })
  end

  def lines(settings) = settings.map { |name, value| "#{name}=#{value}\n" }.join
  def place(id) = File.join(@directory, "broker#{id}")

  def launch(id)
    log = "#{place(id)}/log"
    pid = Process.spawn(*JAVA, "-cp", "#{Cluster.classes}/*", "kafka.Kafka",
                        "#{place(id)}/properties", out: [log, "a"], err: [log, "a"], pgroup: true)
    @processes[id] = Skep.pidfd(pid)
  end

  def finish(id, signal)
    pidfd = @processes.delete(id)
    pidfd.signal(signal)
    ended = pidfd.wait(timeout: Patience.of(SECONDS))
    raise Scenario::Failed, "broker #{id} didn't end by #{signal}" unless ended
  ensure
    pidfd&.close
  end

  # Returns true if each broker answers a metadata request.
  def all_answer? = ids.all? { |id| @processes[id] && Wire.partitions(port(id)) }

  def ask
    @processes.each_key do |id|
      found = nil_without_answer { yield port(id) }
      return found if found
    end
    nil
  end

  def nil_without_answer
    yield
  rescue SystemCallError, EOFError # the broker has just been started, or killed
    nil
  end
end
