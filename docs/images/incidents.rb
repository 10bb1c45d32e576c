# frozen_string_literal: true

# Records docs/images/incidents.svg. A swarm reads from a real broker while a node is killed, a
# message makes its handler segfault, and one of a node's five threads waits forever. At the end
# each message must have been handled, or be a dead letter.
#
#   SKEP_KAFKA_BROKER=… bundle exec ruby docs/images/incidents.rb
require_relative "../../test/scenario/kafka/scenario"
require_relative "recording"
require "rdkafka"

NODES, PARTITIONS, RATE = 4, 12, 400
TICK = 0.05 # seconds between two writes
WIDTH = 98

SWARM = <<~'RUBY'
  require "fiddle"
  require "skep/kafka"

  # "stuck" waits for a lock that is never released, but only the first time.
  def bill(message)
    case message.payload
    when "segfault" then Fiddle::Pointer.new(8)[0, 1]
    when "stuck" then $account.synchronize { raise "never" } if File.delete("#{__dir__}/first")
    end
  rescue Errno::ENOENT
    nil
  end

  source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS") },
                                   group: "shop", topics: "orders", threads: 5,
                                   dead_letter_topic: "orders.dead")
  Skep.swarm "shop", nodes: Integer(ENV.fetch("NODES")) do |swarm|
    swarm.on_boot do
      $account = Mutex.new
      Thread.new { $account.synchronize { Queue.new.pop } }
      $ledger = File.open("#{__dir__}/ledger.#{Process.pid}", "a")
    end
    swarm.work(source) do |batch, _node|
      batch.each do |message|
        bill(message)
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        $ledger.syswrite("#{message.partition} #{message.offset} #{now}\n")
      end
    end
  end
RUBY

# Writes messages until it is closed.
class Orders
  def initialize(seeder)
    @seeder = seeder
    @stop, @stopper = IO.pipe
    @count, @specials = 0, Queue.new
    @thread = Thread.new { write until @stop.wait_readable(TICK) }
  end

  # Writes this payload among the others.
  def <<(payload) = @specials << payload

  # Returns the number of messages.
  def close
    @stopper.close
    @thread.join
    @count
  end

  private

  def write
    payloads = Array.new(RATE * TICK) { "order" }
    payloads[0] = @specials.pop unless @specials.empty?
    @seeder.publish(payloads.map { |payload| [nil, payload, (@count += 1) % PARTITIONS] })
  end
end

# A message that was handled: its partition, its offset, when, and in which process.
Handled = Struct.new(:partition, :offset, :at, :pid)

class Incidents < KafkaScenario
  def record
    start
    kill
    segfault
    stuck
    finish_well
    File.write("#{__dir__}/incidents.svg", @film.to_s)
  end

  private

  def start
    topic("orders", PARTITIONS)
    topic("orders.dead", 1)
    @swarm = run_swarm(SWARM, env: { "KAFKA_BROKERS" => broker.address, "NODES" => NODES.to_s })
    await_assignment(PARTITIONS, @swarm, nodes: NODES)
    @orders = Orders.new(seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.address, "orders"))
    at_end { seeder.close }
    what = "skep replaces a killed node, sets a message aside that makes its handler segfault, " \
           "and finds one stuck thread of five"
    @film = Recording.new(what, columns: WIDTH)
    @film.title("$ skep run swarm.rb")
    versions = "skep #{Skep::VERSION}, Ruby #{RUBY_VERSION}, librdkafka #{librdkafka}"
    @film.line("  #{versions}, a Kafka broker; #{NODES} nodes of 5 threads,", at: 0.3, ink: :dim)
    @film.line("  #{PARTITIONS} partitions, #{RATE} messages per second, default options",
               at: 0.6, ink: :dim)
    settle
  end

  def librdkafka = Rdkafka::LIBRDKAFKA_VERSION

  def kill
    scene("A node is killed")
    before = generation("shop")
    node = @swarm.status("shop")["nodes"].first
    began("$ kill -9 #{node["pid"]}") { @swarm.kill(node["pid"]) }
    shown("node_died", %w[node signal phase]) { |event| event["pid"] == node["pid"] }
    shown("node_ready", %w[node pid]) { |event| event["node"] == node["id"] }
    partitions, last = continued(node["pid"])
    said("its #{partitions} partitions continue: no rebalance", at: last)
    settle
    must("rebalance nothing") { generation("shop") == before }
  end

  def segfault
    scene("A message makes its handler segfault")
    began("message \"segfault\" is written to orders") { @orders << "segfault" }
    letter = nil
    @swarm.follow("a dead letter", seconds: 60) do
      letter ||= @swarm.events.find { |event| event["event"] == "dead_lettered" }
    end
    later = @swarm.events.select { |event| event["mono"].between?(@began, letter["mono"]) }
    later.each do |event|
      case event["event"]
      when "node_died" then show(event, %w[node signal phase])
      when "message_isolated" then show(event, %w[topic partition offset last_offset])
      end
    end
    show(letter, %w[topic partition offset crashes to])
    settle
  end

  def stuck
    scene("One of a node's five threads waits for a lock that is never released")
    File.write("#{@swarm.directory}/first", "")
    began("message \"stuck\" is written to orders") { @orders << "stuck" }
    hung = shown("node_hung", %w[node thread in_flight], seconds: 90)
    thread = hung["threads"].find { |one| one["name"].end_with?("worker.#{hung["thread"]}") }
    frame = thread["backtrace"].find { |line| line.include?("bill") }
    said("    #{frame.sub("#{@swarm.directory}/", "")}", at: hung["mono"], ink: :error)
    shown("node_died", %w[node signal reason]) { |event| event["pid"] == hung["pid"] }
    ready = shown("node_ready", %w[node pid]) { |event| event["node"] == hung["node"] }
    partitions, last = continued(hung["pid"], since: ready["mono"])
    said("its #{partitions} partitions continue", at: last)
    settle
  end

  def finish_well
    written = @orders.close
    @swarm.follow("all messages are handled") { handled.size == written - 1 }
    twice = ledger.size - handled.size
    dead = read("orders.dead").size
    must("have one dead letter, not #{dead}") { dead == 1 }
    scene("$ skep stop")
    @began = Skep::OS.now
    said("#{written} messages written: #{handled.size} handled, #{twice} of them twice, " \
         "none lost, 1 dead letter", at: @began)
    must("stop with 0") { @swarm.stop.exitstatus == 0 }
  end

  def scene(text) = @film.title(text)

  def began(text)
    @began = Skep::OS.now
    yield
    @film.line("#{seconds(@began)}  #{text}", at: 0.0, ink: :command)
  end

  def shown(name, facts, seconds: 30, &block)
    event = @swarm.await(name, seconds:) do |one|
      one["mono"] > @began && (!block || block.call(one))
    end
    show(event, facts)
  end

  def show(event, facts)
    words = facts.filter_map { |fact| "#{fact}=#{event[fact]}" if event[fact] }
    head = "#{seconds(event["mono"])}  #{event["level"].upcase.ljust(5)} #{event["event"]}"
    @film.line("#{head}  #{words.join(" ")}", at: event["mono"] - @began,
                                              ink: event["level"].to_sym)
    event
  end

  def said(text, at:, ink: :result)
    @film.line("#{seconds(at)}  #{text}", at: at - @began, ink:)
  end

  def seconds(mono) = format("%8.3f s", mono - @began)

  # Messages are committed and handled as usual for a while.
  def settle = @swarm.follow_for(6)

  def ledger
    Dir.glob("#{@swarm.directory}/ledger.*").flat_map do |path|
      pid = Integer(path[/\d+\z/])
      File.readlines(path).grep(/\n\z/).map do |line|
        partition, offset, at = line.split
        Handled.new(Integer(partition), Integer(offset), Float(at), pid)
      end
    end
  end

  def handled = ledger.uniq { |one| [one.partition, one.offset] }

  # Waits until another process has handled a message of each of the process' partitions. Returns
  # the number of these partitions, and when the last of them continued.
  def continued(pid, since: @began)
    mine = ledger.select { |one| one.pid == pid }.map(&:partition).uniq
    first = {}
    @swarm.follow("its partitions continue") do
      others = ledger.select { |one| one.at > since && one.pid != pid }
      first = others.group_by(&:partition).slice(*mine).transform_values { |all| all.map(&:at).min }
      first.size == mine.size
    end
    [mine.size, first.values.max]
  end
end

Incidents.play { record }
