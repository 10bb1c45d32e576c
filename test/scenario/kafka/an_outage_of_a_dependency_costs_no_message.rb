# frozen_string_literal: true

require_relative "scenario"
require "time"

# What handlers depend on, a file here, is away for some seconds, and each of 500 messages of 500
# keys fails until it is back: by partition and by key, with and without a dead letter topic. None
# of them is dead-lettered, one is tried every 1.5 s at least, and all are done soon after.
# (AWAY=1,2,4,30 for more than 2 seconds; DOWNSTREAM=payloads for a handler of which it isn't known
# which message failed.)
AWAY = ENV.fetch("AWAY", "2").split(",").map { |seconds| Float(seconds) }
HANDLER = ENV.fetch("DOWNSTREAM", "each")
COUNT = 500
LONGEST = 2.0 # seconds from its return until all is done, and between two tries before that
BUSY = 4.0 # seconds for which a busy machine may keep all of it waiting

class Dependency < KafkaScenario
  HANDLERS = {
    "each" => "batch.each { |message| downstream.call([message]) }",
    "payloads" => "downstream.call(batch.messages)"
  }.freeze

  def try(by, seconds, dead)
    name = "#{by}.#{seconds.to_i}.#{dead ? "dead" : "none"}"
    orders = topic("orders.#{name}", 1)
    letters = topic("dead.#{name}", 1) if dead
    feed(orders, (0...COUNT).map { |n| [n.to_s, "v"] })
    @swarm = run_swarm(source(orders, by, letters))
    @swarm.await("handler_failed")
    @swarm.follow_for(seconds)
    File.write(File.join(@swarm.directory, "back"), "")
    took = finish
    must("stop with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    judge(name, took, letters)
  end

  private

  def source(orders, by, letters)
    <<~RUBY
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                       group: "#{orders}", topics: "#{orders}", threads: 4,
                                       ordered_by: :#{by}, dead_letter_topic: #{letters.inspect})
      Skep.swarm "readers", nodes: 1 do |swarm|
        swarm.on_boot { @done = File.open("\#{__dir__}/done", "a") }
        downstream = lambda do |messages|
          raise IOError, "away" unless File.exist?("\#{__dir__}/back")

          @done.syswrite(messages.map { |message| "\#{message.key}\\n" }.join)
        end
        swarm.work(source) { |batch, _| #{HANDLERS.fetch(HANDLER)} }
      end
    RUBY
  end

  # Seconds until all is done, or set aside.
  def finish
    since = Skep::OS.now
    @swarm.follow("all is done") { done.uniq.size + events("dead_lettered").size >= COUNT }
    Skep::OS.now - since
  end

  def judge(name, took, letters)
    failed = events("handler_failed")
    buried = letters ? read(letters).size : 0
    pause = failed.map { |event| Time.parse(event["time"]) }.sort.each_cons(2).map { _2 - _1 }.max
    puts format("%-20s done %4.1f s after its return, dead-lettered %d, tries that failed %d, " \
                "longest time between two of them %.1f s", name, took, buried, failed.size, pause)
    must("set nothing aside") { buried.zero? }
    must("do each message once: #{done.tally.max_by(&:last)}") { done.size == done.uniq.size }
    must("try again within #{LONGEST} s, not #{pause} s") { pause <= LONGEST + BUSY }
    must("be done soon after, not after #{took} s") { took <= LONGEST + BUSY }
  end

  def events(name) = @swarm.events.select { |event| event["event"] == name }

  def done
    path = File.join(@swarm.directory, "done")
    File.exist?(path) ? File.readlines(path, chomp: true) : []
  end
end

Dependency.play do
  AWAY.product(%i[key partition], [true, false]).each { |seconds, by, dead| try(by, seconds, dead) }
end
