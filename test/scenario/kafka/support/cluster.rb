# frozen_string_literal: true

require "fileutils"
require "securerandom"
require_relative "wire"

# A real Kafka of several brokers, each of them a controller as well: whatever one of them had to do
# another takes over when it is killed, and what two of three have is safe.
#
#   cluster = Cluster.new(directory)     # Cluster.obstacle says why there can't be one
#   cluster = Cluster.new(directory, bridge: hosts.address)   # cluster.bridge_address for Hosts
#   cluster.topic("orders", leader: 1, partitions: 8)
#   cluster.kill(1)        # SIGKILL; stop(1): as an upgrade does; hang(1), go_on(1)
#   cluster.start(1)
#   cluster.whole?         # has each partition all of its copies, and the leader it is to have?
#   cluster.close
#
# Kafka's classes are taken from where the program has them that SKEP_KAFKA_BROKER names. Brokers
# have the ids 1, 2, 3.
class Cluster
  PROGRAM = ENV["SKEP_KAFKA_BROKER"]
  BROKERS = 3
  SECONDS = 60
  # Started often, and little to do: what starts quickly is quick enough.
  JAVA = %w[java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
            -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote].freeze
  # So that a death is noticed within seconds. (Kafka's: 9000, 2000, 2000, 1000.)
  SETTINGS = {
    "process.roles" => "broker,controller", "controller.listener.names" => "CONTROLLER",
    "listener.security.protocol.map" => "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BRIDGE:PLAINTEXT",
    "broker.session.timeout.ms" => 3000, "broker.heartbeat.interval.ms" => 500,
    "controller.quorum.fetch.timeout.ms" => 1500, "controller.quorum.election.timeout.ms" => 500,
    "default.replication.factor" => BROKERS, "min.insync.replicas" => 2,
    "unclean.leader.election.enable" => false,
    "leader.imbalance.check.interval.seconds" => 1, # who has come back leads again
    "offsets.topic.replication.factor" => BROKERS, "offsets.topic.num.partitions" => 4,
    "transaction.state.log.replication.factor" => BROKERS, "transaction.state.log.min.isr" => 2,
    "transaction.state.log.num.partitions" => 4, "group.initial.rebalance.delay.ms" => 0,
    "log.cleaner.dedupe.buffer.size" => 4 << 20, "auto.create.topics.enable" => false
  }.freeze

  class << self
    # Why there can't be one, in a sentence.
    def obstacle
      return "SKEP_KAFKA_BROKER names no program that starts a broker" unless PROGRAM

      "no Kafka's classes lie in libs, beside #{PROGRAM} or above it" unless classes
    end

    def classes
      here = File.dirname(File.realpath(PROGRAM))
      ["#{here}/libs", "#{here}/../libs"].find { |path| Dir.glob("#{path}/kafka_*.jar").any? }
    end
  end

  attr_reader :ids

  # bridge: an address on which brokers listen as well.
  def initialize(directory, bridge: nil)
    @directory = directory
    @bridge = bridge
    @ids = (1..BROKERS).to_a
    @ports = free_ports
    @processes = {}
    configure
    ids.each { |id| launch(id) }
    await("a cluster of #{BROKERS}") { Wire.partitions(port(ids.first)) && all_there? }
  end

  def address(ids = @ids) = ids.map { |id| "127.0.0.1:#{port(id)}" }.join(",")
  def bridge_address = ids.map { |id| "#{@bridge}:#{@ports[id].last}" }.join(",")
  def port(id) = @ports[id].first

  # With a copy on each broker.
  def topic(name, leader:, partitions:, **settings)
    copies = [leader, *(ids - [leader])]
    Wire.create_topic(port(leader), name, [copies] * partitions, settings.transform_keys(&:to_s))
  end

  def start(id) = launch(id)

  def kill(id) = finish(id, :KILL)
  def stop(id) = finish(id, :TERM)
  def hang(id) = @processes[id].signal(:STOP)
  def go_on(id) = @processes[id].signal(:CONT)

  # What one who is at work says of it.
  def partitions = ask { |port| Wire.partitions(port) }

  def whole?
    all_there? && partitions.all? do |place|
      place.in_sync.size == place.replicas.size && place.leader == place.replicas.first
    end
  end

  def await(what, seconds: SECONDS)
    deadline = Skep::OS.now + seconds
    until answered { yield }
      raise Scenario::Failed, "no #{what} within #{seconds} s" if Skep::OS.now > deadline

      IO.select(nil, nil, nil, 0.1)
    end
  end

  def close = @processes.keys.each { |id| kill(id) }

  private

  # Below those that the kernel gives to whoever connects.
  def free_ports
    first = Random.rand(10_000..32_000)
    numbers = (first...first + (BROKERS * 3)).each do |one|
      TCPServer.new("127.0.0.1", one).close
    end
    ids.zip(numbers.each_slice(3)).to_h
  rescue Errno::EADDRINUSE # by somebody else
    retry
  end

  # One is made by Kafka's tool, the others after its likeness.
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
    pidfd.wait(timeout: SECONDS) or raise Scenario::Failed, "broker #{id} didn't end by #{signal}"
  ensure
    pidfd&.close
  end

  # Each of them, as each tells itself.
  def all_there? = ids.all? { |id| @processes[id] && Wire.partitions(port(id)) }

  def ask
    @processes.each_key do |id|
      found = answered { yield port(id) }
      return found if found
    end
    nil
  end

  def answered
    yield
  rescue SystemCallError, EOFError # it has just been started, or killed
    nil
  end
end
