# frozen_string_literal: true

# Among 10,000 good messages one crashes every node that processes it. Its handler causes a
# segfault, hangs in C, exceeds skep's or the kernel's memory limit, raises an exception that ends
# a process, or exits, at once or in an orderly way. After three crashes in which it was alone in
# flight, the message becomes a dead letter, once. All other messages are handled, and no node waits
# in a crash loop, even with two such messages in a row. (KINDS=segfault,hang,… for some cases.)
require_relative "scenario"
require_relative "../support/small_group"

GOOD = 10_000
SEGFAULT = "Fiddle::Pointer.new(8)[0, 1]"
CRASHED = /\ASIG(?:SEGV|ABRT)\z/ # Ruby's own handler ends with abort(3)
TIMEOUT = ", liveness_timeout: 20"
KINDS = {
  "segfault" => { code: SEGFAULT, end: CRASHED },
  "signal" => { code: "Process.kill(:SEGV, Process.pid)", end: CRASHED, threads: 1, crashes: 3..3 },
  "whole" => { code: SEGFAULT, end: CRASHED, poisons: 2, crashes: 7..8, handler: :whole },
  "spare" => { code: SEGFAULT, end: CRASHED, options: "#{TIMEOUT}, spares: 2" },
  # On a slow machine the first hangs may look like those of a dependency: they don't count.
  "hang" => { code: "hang", options: ", liveness_timeout: 2, kill_timeout: 0.5", more: true,
              end: /\ASIGKILL, hung\z/, crashes: 3..6 },
  "memory" => { code: "eat", options: "#{TIMEOUT}, kill_timeout: 0.5, memory_limit: \"120M\"",
                end: /\ASIGKILL, memory_limit\z/ },
  "oom" => { code: "2.times { eat }", group: 300 << 20, end: /\ASIGKILL, oom\z/ },
  "exit" => { code: "exit!(7)", end: /\Aexit status 7\z/ },
  "orderly" => { code: "exit(7)", end: /\Aexit status 7\z/, event: "handler_exited" },
  "exception" => { code: "raise NoMemoryError, 'failed to allocate memory'",
                   end: /\Aexit status 1\z/ }
}.freeze
HANDLERS = {
  one_by_one: <<~RUBY,
    batch.each do |message|
      bad.call if message.payload == "bad"
      done.call([message])
    end
  RUBY
  whole: <<~RUBY
    bad.call if batch.payloads.include?("bad")
    done.call(batch.messages)
  RUBY
}.freeze

EAT = <<~'RUBY'
  def eat
    eaten = Array.new(40) { "y" * (8 << 20) }
    IO.select(nil, nil, nil, 60)
    eaten.clear
  end
RUBY

class Poisoning < KafkaScenario
  def try(kind, code:, end:, threads: 2, poisons: 1, options: TIMEOUT, handler: :one_by_one,
          group: nil, more: false, event: nil,
          crashes: 3..6) # the first ones count only if the message was alone in flight
    before = group && (enter(group) or missing("a control group, for #{kind}"))
    @orders, @dead = topic("orders.#{kind}", 4), topic("dead.#{kind}", 1)
    produce(poisons)
    @swarm = run_swarm(source(kind, code, threads, options, handler), before:)
    @good = GOOD
    feed_more if more
    letters = watch(poisons)
    must("handle each good message and no bad one") { done.uniq.size == @good }
    check_letters(letters, read(@dead))
    check_crashes(kind, binding.local_variable_get(:end), crashes)
    must("report #{event}") { event.nil? || @swarm.events.any? { |one| one["event"] == event } }
  end

  private

  # Returns Ruby code with which a process enters a new control group of this memory limit.
  def enter(bytes)
    group = SmallGroup.make(bytes) or return
    at_end { group.remove }
    group.enter
  end

  # Produces the bad messages one after the other into one partition.
  def produce(poisons)
    bad = Array.new(poisons) { |n| ["poison #{n}", "bad", 1] }
    feed(@orders, (0...GOOD).map { |id| [id.to_s, "good", id % 4] }.insert(GOOD / 2, *bad))
  end

  def source(kind, code, threads, options, handler)
    HANG + EAT + <<~RUBY
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "#{kind}", topics: "#{@orders}",
                                       max_messages: 50, threads: #{threads}, dead_letter_topic: "#{@dead}")
      Skep.swarm "poisoned", nodes: 2 #{options} do |swarm|
        swarm.on_boot { @file = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
        bad = -> { #{code} }
        done = ->(messages) { @file.syswrite(messages.map { |one| "\#{one.key}\\n" }.join) }
        swarm.work(source) do |batch, node|
          #{HANDLERS.fetch(handler)}
        end
      end
    RUBY
  end

  # Feeds further good messages until a message is dead-lettered: a hang counts only while others
  # are processed.
  def feed_more
    @swarm.follow("a message is dead-lettered", seconds: 120) do
      feed(@orders, Array.new(4) { |n| [(@good + n).to_s, "good", n] })
      @good += 4
      @swarm.events.any? { |event| event["event"] == "dead_lettered" }
    end
  end

  # Waits until all messages are handled. Returns the dead_lettered events.
  def watch(poisons)
    letters = [@swarm.await("dead_lettered", times: poisons, seconds: 120)].flatten
    @swarm.follow("every good message is handled", seconds: 60) { done.uniq.size >= @good }
    @swarm.follow("no suspect is left") { @swarm.status("poisoned")["suspects"].empty? }
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    letters
  end

  def check_letters(events, letters)
    must("write each dead letter once: #{letters}") { letters.size == events.size }
    events.zip(letters).each_with_index do |(event, letter), n|
      must("dead-letter only bad messages: #{letter}") do
        letter.values_at(:key, :payload) == ["poison #{n}", "bad"]
      end
      check_headers(letter[:headers], event["offset"].to_s)
    end
  end

  def check_headers(headers, offset)
    where = headers.values_at("skep.topic", "skep.partition", "skep.offset", "skep.host")
    must("write the origin into the headers: #{headers}") do
      where == [@orders, "1", offset, Socket.gethostname]
    end
    must("write the crashes into the headers: #{headers}") do
      headers.values_at("skep.crashes", "skep.attempts") == %w[3 3] &&
        headers["skep.error"].include?("crashed 3 times")
    end
  end

  def check_crashes(kind, ending, expected)
    events = @swarm.events.group_by { |event| event["event"] }
    crashes = events.fetch("node_died").take_while { |event| event["mono"] < stopping(events) }
    puts "#{kind}: #{crashes.size} crashes, #{done.size - @good} good messages handled again"
    must("crash #{expected} times: #{crashes}") { expected.cover?(crashes.size) }
    must("crash for the expected reason: #{crashes}") do
      crashes.all? { |event| reason(event).match?(ending) }
    end
    must("wait in no crash loop") { (events.keys & %w[node_waiting crash_loop]).empty? }
  end

  def stopping(events) = events.fetch("swarm_stopping").first["mono"]

  def reason(event)
    status = event["signal"] ? "SIG#{event["signal"]}" : "exit status #{event["exit_status"]}"
    [status, *event["reason"]].join(", ")
  end

  def done
    files = Dir.glob("#{@swarm.directory}/done.*")
    files.flat_map { |path| File.readlines(path, chomp: true) }
  end
end

Poisoning.play do
  KINDS.slice(*ENV.fetch("KINDS", KINDS.keys.join(",")).split(",")).each do |kind, how|
    try(kind, **how)
  end
end
