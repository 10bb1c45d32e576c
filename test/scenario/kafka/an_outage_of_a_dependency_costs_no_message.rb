# frozen_string_literal: true

require_relative "scenario"
require "time"

# A dependency of the handler, here a file, is missing for some seconds. Each of 500 messages with
# 500 keys fails meanwhile: with ordering by partition and by key, with and without a dead letter
# topic; and in three nodes for four times as long as retry_for. No message becomes a dead letter,
# skep retries one at least every 1.5 s, and all are handled soon after the file is back.
# (AWAY=1,2,4,30 for outages of other lengths than 2 s; LONG=90 for another one than 8 s in three
# nodes; DOWNSTREAM=payloads for a handler that processes the batch as a whole.)
AWAY = ENV.fetch("AWAY", "2").split(",").map { |seconds| Float(seconds) }
LONG = Float(ENV.fetch("LONG", "8")) # seconds
RETRY_FOR = 2 # seconds, in the long one
HANDLER = ENV.fetch("DOWNSTREAM", "each")
COUNT = 500
LONGEST = 2.0 # seconds from the outage's end until all is handled, and between two attempts
BUSY = 4.0 # seconds of delay allowed on a busy machine

class Dependency < KafkaScenario
  HANDLERS = {
    "each" => "batch.each { |message| downstream.call([message]) }",
    "payloads" => "downstream.call(batch.messages)"
  }.freeze

  def try(by, seconds, dead, nodes: 1, **options)
    name = "#{by}.#{seconds.to_i}.#{dead ? "dead" : "none"}"
    orders = topic("orders.#{name}", nodes)
    letters = topic("dead.#{name}", 1) if dead
    feed(orders, (0...COUNT).map { |n| [n.to_s, "v"] })
    file = source(orders, by, letters, nodes, options)
    @swarm = run_swarm(file, arguments: %w[--log-level debug])
    @swarm.await("handler_failed")
    @swarm.follow_for(seconds)
    File.write(File.join(@swarm.directory, "back"), "")
    took = finish
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    check(name, took, letters)
  end

  private

  def source(orders, by, letters, nodes, options)
    <<~RUBY
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                       group: "#{orders}", topics: "#{orders}", threads: 4,
                                       ordered_by: :#{by}, dead_letter_topic: #{letters.inspect},
                                       **#{options})
      Skep.swarm "readers", nodes: #{nodes} do |swarm|
        swarm.on_boot { @done = File.open("\#{__dir__}/done", "a") }
        downstream = lambda do |messages|
          raise IOError, "missing" unless File.exist?("\#{__dir__}/back")

          @done.syswrite(messages.map { |message| "\#{message.key}\\n" }.join)
        end
        swarm.work(source) { |batch, _| #{HANDLERS.fetch(HANDLER)} }
      end
    RUBY
  end

  # Returns the seconds until every message is handled or is a dead letter.
  def finish
    since = Skep::OS.now
    @swarm.follow("all messages are handled") do
      done.uniq.size + events("dead_lettered").size >= COUNT
    end
    Skep::OS.now - since
  end

  def check(name, took, letters)
    failed = events("handler_failed")
    dead = letters ? read(letters).size : 0
    pause = failed.map { |event| Time.parse(event["time"]) }.sort.each_cons(2).map { _2 - _1 }.max
    puts format("%-20s handled %4.1f s after the outage, dead letters %d, failed attempts %d, " \
                "longest time between two attempts %.1f s", name, took, dead, failed.size, pause)
    must("write no dead letter") { dead.zero? }
    must("handle each message once: #{done.tally.max_by(&:last)}") { done.size == done.uniq.size }
    must("retry within #{LONGEST} s, not #{pause} s") { pause <= LONGEST + BUSY }
    must("handle all messages soon after, not after #{took} s") { took <= LONGEST + BUSY }
  end

  def events(name) = @swarm.events.select { |event| event["event"] == name }

  def done
    path = File.join(@swarm.directory, "done")
    File.exist?(path) ? File.readlines(path, chomp: true) : []
  end
end

Dependency.play do
  AWAY.product(%i[key partition], [true, false]).each { |seconds, by, dead| try(by, seconds, dead) }
  %i[key partition].each { |by| try(by, LONG, true, nodes: 3, retry_for: RETRY_FOR) }
end
