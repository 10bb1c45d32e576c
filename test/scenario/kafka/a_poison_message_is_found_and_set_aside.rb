# frozen_string_literal: true

# Among 10,000 good messages one ends every node that has it in hand: by a segfault, by a hang in C,
# by its appetite for memory. It is found, and goes to the dead letters once after three crashes
# alone in its node; all others are handled, and no node waits in a crash loop.
# (KINDS=segfault,hang,memory for some of it.)
require_relative "scenario"

GOOD = 10_000
KINDS = {
  "segfault" => { body: "Fiddle::Pointer.new(8)[0, 1]", options: ", liveness_timeout: 20",
                  end: /\ASIG(?:SEGV|ABRT)\z/ }, # Ruby's own handler ends with abort(3)
  "hang" => { body: "hang", options: ", liveness_timeout: 2, kill_timeout: 0.5",
              end: /\ASIGKILL, hung\z/ },
  "memory" => { body: "eat", options: ", liveness_timeout: 20, kill_timeout: 0.5, " \
                                      "memory_limit: \"120M\"",
                end: /\ASIGKILL, memory_limit\z/ }
}.freeze
CRASHES = 3..4 # the first counts only where nothing else was in hand

EAT = <<~'RUBY'
  def eat
    eaten = []
    eaten << ("y" * (8 << 20)) while eaten.size < 40
    IO.select(nil, nil, nil, 60)
  end
RUBY

KafkaScenario.play do
  kinds = ENV.fetch("KINDS", KINDS.keys.join(",")).split(",")
  kinds.each do |kind|
    how = KINDS.fetch(kind)
    orders, dead = topic("orders.#{kind}", 4), topic("dead.#{kind}", 1)
    messages = (0...GOOD).map { |id| [id.to_s, "good"] }
    feed(orders, messages.insert(GOOD / 2, ["poison", "bad"]))
    swarm = run_swarm(HANG + EAT + <<~RUBY)
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "#{kind}", topics: "#{orders}", threads: 2,
                                       batch: 50, dead_letter: "#{dead}")
      Skep.swarm "poisoned", nodes: 2 #{how[:options]} do |swarm|
        swarm.on_boot { @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
        swarm.work(source) do |batch, child|
          batch.each do |message|
            #{how[:body]} if message.payload == "bad"
            @done.syswrite("\#{message.key}\\n")
          end
        end
      end
    RUBY
    done = lambda do
      Dir.glob("#{swarm.directory}/done.*").flat_map { |path| File.readlines(path, chomp: true) }
    end
    letter = swarm.await("dead_lettered", seconds: 120)
    swarm.follow("every good message is handled", seconds: 60) { done.call.uniq.size >= GOOD }
    swarm.follow("nobody is suspect any more") { swarm.status("poisoned")["suspects"].empty? }
    deaths = swarm.events.select { |event| event["event"] == "node_died" }
    told = swarm.events.map { |event| event["event"] }.tally
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

    letters = read(dead)
    headers = letters.first[:headers]
    puts "#{kind}: #{deaths.size} crashes, #{done.call.size - GOOD} good ones handled again"
    must("handle each good message, and no bad one") { done.call.uniq.size == GOOD }
    must("set one aside: #{letters.map { |one| one[:key] }}") { letters.map { |one| one[:key] } == ["poison"] }
    must("say where it was: #{headers}") do
      headers.values_at("skep.topic", "skep.partition", "skep.offset") ==
        [orders, letter["partition"].to_s, letter["offset"].to_s]
    end
    must("say what it did: #{headers}") do
      headers["skep.crashes"] == "3" && headers["skep.attempts"] == "3" &&
        headers["skep.error"].include?("3 crashes") && headers["skep.host"] == Socket.gethostname
    end
    must("leave the payload alone") { letters.first[:payload] == "bad" }
    must("crash #{CRASHES} times: #{deaths}") { CRASHES.cover?(deaths.size) }
    must("crash as it does: #{deaths}") do
      deaths.all? { |event| ["SIG#{event["signal"]}", *event["reason"]].join(", ").match?(how[:end]) }
    end
    must("wait in no crash loop: #{told}") { !told.key?("node_waiting") && !told.key?("crash_loop") }
  end
end
