# frozen_string_literal: true

# Two swarms on two hosts share a group on a cluster of three brokers. A feeder produces a message
# each 20 ms, into 16 partitions in turn. Meanwhile a Deployment is rolled out: one more pod at a
# time, each with a new name. A StatefulSet is rolled out: each pod restarts under its name. The
# swarms are scaled, restarted, stopped and started, and nodes are killed. No message is lost. The
# scenario prints how long messages wait for their first handling during each action.
#
#   ROLLOUTS=10 KINDS=deployment,statefulset ruby test/scenario/kafka/a_deploy_goes_unnoticed.rb
#
# ACTIONS: only these, such as "stop and start,restart".
# KAFKA: more settings for the consumers, as JSON.
require_relative "scenario"
require_relative "support/cluster"
require_relative "support/hosts"

class Deploys < KafkaScenario
  ROLLOUTS = Integer(ENV.fetch("ROLLOUTS", "1"))
  KINDS = ENV.fetch("KINDS", "deployment,statefulset").split(",")
  ACTIONS = ENV["ACTIONS"]&.split(",")
  KAFKA = JSON.parse(ENV.fetch("KAFKA", "{}"))
  PARTITIONS, PODS, NODES = 16, 2, 2
  CALM = 2.0 # seconds between two actions
  RECORD = "Q>Q>Q>Q>" # times of handling and producing, partition, offset
  LETTERS = [*"a".."z", *"0".."9"].freeze
  FEEDER = <<~RUBY
    require "rdkafka"
    producer = Rdkafka::Config.new("bootstrap.servers" => ARGV[0], "linger.ms" => 0,
                                   "enable.idempotence" => true).producer # no duplicate by a retry
    stop = false
    trap(:TERM) { stop = true }
    produced = 0
    following = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    until stop
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      producer.produce(topic: ARGV[1], payload: now.to_s, partition: produced % #{PARTITIONS})
      produced += 1
      following += 0.02
      pause = following - Process.clock_gettime(Process::CLOCK_MONOTONIC)
      IO.select(nil, nil, nil, pause) if pause.positive?
    end
    producer.close
    puts produced
  RUBY

  def play_out
    @hosts = Hosts.new(PODS + 1)
    at_end { @hosts.close }
    cluster
    KINDS.each { |kind| run_kind(kind) }
  end

  private

  def cluster
    @cluster ||= begin
      place = File.join(directory, "cluster").tap { |path| Dir.mkdir(path) }
      Cluster.new(place, bridge: @hosts.address).tap { |cluster| at_end { cluster.close } }
    end
  end
  alias broker cluster

  def run_kind(kind)
    @kind = kind
    @done = File.join(directory, kind).tap { |path| Dir.mkdir(path) }
    cluster.topic(kind, leader: 1, partitions: PARTITIONS)
    @windows = []
    @pods = (0...PODS).map { |number| pod(number, new_name(number)) }
    await_assignment(PARTITIONS, *@pods, nodes: PODS * NODES)
    produced = while_feeding do
      @pods.first.follow(-> { "the first message" }) { waits.any? }
      act
    end
    await_all(produced)
    @pods.each { |pod| stop(pod) }
    report(produced)
  end

  def act
    record("nothing") { pause(CALM) }
    ROLLOUTS.times { record("rollout") { PODS.times { |number| replace(number) } } }
    ROLLOUTS.times { record("kill -9 of a node") { kill } }
    record("scale to #{NODES + 1}") { scale(NODES + 1) }
    record("scale back") { scale(NODES) }
    ROLLOUTS.times { record("restart") { restart } }
    ROLLOUTS.times { record("stop and start") { stop_and_start } }
  end

  # Records the time of an action, with the pause after it.
  def record(name)
    return if ACTIONS&.none?(name)

    began = Skep::OS.now
    yield
    pause(CALM)
    @windows << [name, (began * 1e9).to_i, (Skep::OS.now * 1e9).to_i]
  end

  def pause(seconds) = @pods.first.follow_for(seconds)

  def new_name(number)
    return "#{@kind}-#{number}" if @kind == "statefulset"

    "#{@kind}-7c5d9f4b6-#{Array.new(5) { LETTERS.sample }.join}"
  end

  # number: the host's number.
  def pod(number, hostname)
    run_swarm(source, under: @hosts.under(number, hostname),
                      env: { "KUBERNETES_SERVICE_HOST" => "10.0.0.1" })
      .tap { |swarm| (@names ||= {}.compare_by_identity)[swarm] = [number, hostname] }
  end

  def ready(pod) = pod.tap { pod.await("node_ready", times: NODES) }

  def stop(pod)
    status = pod.stop
    must("exit with 0, not #{status}; #{pod.account}") { status.success? }
  end

  # Replaces a pod as Kubernetes does. A Deployment starts a new pod, then stops the old one. A
  # StatefulSet stops the pod, then starts it again.
  def replace(index)
    old = @pods[index]
    return stop_and_start(index) if @kind == "statefulset"

    free = ([*0..PODS] - @pods.map { |pod| @names[pod].first }).first
    @pods[index] = ready(pod(free, new_name(free)))
    stop(old)
  end

  def stop_and_start(index = 0)
    number, hostname = @names[@pods[index]]
    stop(@pods[index])
    @pods[index] = ready(pod(number, hostname))
  end

  def kill
    pod = @pods.sample
    victim = ready_pids(pod).sample
    pod.kill(victim)
    pod.await("node_died") { |event| event["pid"] == victim }
    pod.await("node_ready")
  end

  def scale(nodes)
    must("scale to #{nodes}") { @pods.first.skep("scale", nodes.to_s).nil? }
    wanted = nodes > NODES ? "node_ready" : "node_exited"
    @pods.first.await(wanted)
  end

  def restart
    @pods.first.signal(:USR2)
    @pods.first.await("restart_finished")
  end

  # Returns the number of messages produced during the block.
  def while_feeding
    out = File.join(directory, "produced.#{@kind}")
    pid = Process.spawn(RbConfig.ruby, "-e", FEEDER, cluster.address, @kind, out:)
    pidfd = Skep.pidfd(pid)
    yield
    pidfd.signal(:TERM)
    pidfd.wait(timeout: Patience.of(SECONDS)) or raise Failed, "the feeder doesn't exit"
    Integer(File.read(out).lines.last)
  ensure
    Scenario.kill(pidfd) if pidfd&.alive?
    pidfd&.close
  end

  def await_all(produced)
    @pods.first.follow(-> { "#{waits.size} of #{produced} messages handled" }) do
      waits.size == produced
    end
  end

  # Returns, by partition and offset, the time at which a message was produced and how long it
  # waited for its first handling.
  def waits
    records.each_with_object({}) do |(handled, produced, partition, offset), waits|
      place = [partition, offset]
      wait = handled - produced
      waits[place] = [produced, wait] if !waits[place] || wait < waits[place].last
    end
  end

  def records
    Dir.glob("#{@done}/*").flat_map { |path| File.binread(path).scan(/.{32}/mn) }
       .map { |record| record.unpack(RECORD) }
  end

  def report(produced)
    found = waits.values
    duplicates = records.size - produced
    puts "#{@kind}: #{produced} messages, #{produced - found.size} lost, " \
         "#{duplicates} handled again"
    @windows.group_by(&:first).each do |name, windows|
      longest = windows.map do |_, first, last|
        found.filter_map { |time, wait| wait if time.between?(first, last) }.max / 1e6
      end
      puts format("  %-20s %3d times; the longest wait: median %6.0f ms, most %6.0f ms", name,
                  longest.size, longest.sort[longest.size / 2], longest.max)
    end
    must("lose no message") { found.size == produced }
  end

  def source
    <<~RUBY
      require "skep/kafka"
      def moment = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      Skep.swarm "readers", nodes: #{NODES} do |swarm|
        source = Skep::Kafka::Source.new(kafka: #{{ "bootstrap.servers" => cluster.bridge_address, **KAFKA }.inspect},
                                         group: #{@kind.inspect}, topics: #{@kind.inspect})
        swarm.work(source) do |batch, node|
          file = Thread.current[:file] ||= File.open("#{@done}/\#{moment}.\#{Process.pid}", "ab")
          batch.each do |message|
            file.syswrite([moment, message.payload.to_i, message.partition, message.offset].pack("#{RECORD}"))
          end
        end
      end
    RUBY
  end
end

Deploys.play do
  obstacle = Cluster.obstacle || Hosts.obstacle
  missing obstacle if obstacle
  play_out
end
