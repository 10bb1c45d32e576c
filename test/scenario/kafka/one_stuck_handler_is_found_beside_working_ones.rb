# frozen_string_literal: true

require_relative "scenario"

# One of five threads of a Kafka source waits forever for a lock, while the other four handle
# messages. skep logs the thread, its message and the line where it waits, and replaces the node.
# The message is delivered again; it waits only the first time. Every message is handled.
class StuckHandler < KafkaScenario
  PARTITIONS, THREADS = 8, 5

  # It needs no feature of a real broker.
  def self.embedded? = true

  def broker
    return super if Broker::PROGRAM

    @broker ||= Skep::Kafka::EmbeddedBroker.start.then do |embedded|
      at_end { embedded.stop }
      Embedded.new(embedded)
    end
  end

  # An embedded broker with the interface that KafkaScenario uses.
  Embedded = Struct.new(:broker) do
    def address = broker.bootstrap_servers
    def settings = broker.settings
  end
  private_constant :Embedded

  def try
    @written = 0
    Broker::PROGRAM ? topic("orders", PARTITIONS) : broker.broker.create_topic("orders", PARTITIONS)
    File.write("#{directory}/first", "")
    swarm = run_swarm(source)
    swarm.await("node_ready")
    write("stuck")
    hung = await_hung(swarm)
    check(hung, swarm)
    died = swarm.await("node_died")
    must("replace the node: #{died}") { died.values_at("pid", "reason") == [hung["pid"], "hung"] }
    await_keys(@written)
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    puts "#{@written} messages, #{@meanwhile} of them handled while a thread was stuck"
  end

  private

  # Writes a message with this payload into the first partition, and one into each other.
  def write(payload = "v")
    feed("orders", (0...PARTITIONS).map { |n| [(@written + n).to_s, n.zero? ? payload : "v", n] })
    @written += PARTITIONS
  end

  # Writes messages while the thread is stuck, so that the node's other threads work all the time.
  def await_hung(swarm)
    swarm.follow("the message is in progress") { !File.exist?("#{directory}/first") }
    before = keys.size
    stop, stopper = IO.pipe
    feeder = Thread.new { write until stop.wait_readable(0.1) }
    hung = swarm.await("node_hung", seconds: 60)
    stopper.close
    feeder.join
    @meanwhile = keys.size - before
    hung
  end

  def check(hung, swarm)
    must("have handled messages meanwhile, not #{@meanwhile}") { @meanwhile >= THREADS }
    must("name the thread and its message: #{hung["in_flight"]}") do
      (1..THREADS).cover?(hung["thread"]) && hung["in_flight"].to_s.match?(%r{orders/0/0\b})
    end
    report = hung["threads"] ? hung : swarm.await("node_backtraces") # it answered late
    thread = report["threads"].find { |one| one["name"].end_with?("worker.#{hung["thread"]}") }
    must("log the line where it waits: #{thread}") do
      thread["backtrace"].any? { |line| line.include?("bill") }
    end
  end

  def source
    settings = { "bootstrap.servers" => broker.address }
    settings = settings.merge(broker.settings) unless Broker::PROGRAM
    <<~RUBY
      require "skep/kafka"
      def bill(message)
        $account.synchronize { raise "never" } if message.payload == "stuck" && File.delete("#{directory}/first")
      rescue Errno::ENOENT
        nil
      end

      Skep.swarm "stuck", nodes: 1, liveness_timeout: 3, kill_timeout: 2 do |swarm|
        swarm.on_boot do
          $account = Mutex.new
          Thread.new { $account.synchronize { Queue.new.pop } }
        end
        source = Skep::Kafka::Source.new(kafka: #{settings.inspect}, group: "stuck", topics: "orders",
                                         threads: #{THREADS})
        swarm.work(source) do |batch, node|
          batch.each do |message|
            bill(message)
            File.write(#{file.inspect}, "\#{node.id} \#{message.key}\\n", mode: "a")
          end
        end
      end
    RUBY
  end
end

StuckHandler.play { try }
