# frozen_string_literal: true

# Among 10,000 good messages one ends every node that has it in hand: by a segfault, a hang in C,
# its appetite for memory (skep's limit, the kernel's), an exception that no handler rescues, an
# exit. It is found, and goes to the dead letters once after three crashes alone in its node; all
# others are handled, and no node waits in a crash loop, not even where there are two of them in a
# row. (KINDS=segfault,hang,… for some of it.)
require_relative "scenario"
require_relative "../support/small_group"

GOOD = 10_000
SEGFAULT = "Fiddle::Pointer.new(8)[0, 1]"
CRASHED = /\ASIG(?:SEGV|ABRT)\z/ # Ruby's own handler ends with abort(3)
PATIENT = ", liveness_timeout: 20"
KINDS = {
  "segfault" => { harm: SEGFAULT, end: CRASHED },
  "signal" => { harm: "Process.kill(:SEGV, Process.pid)", end: CRASHED, threads: 1, crashes: 3..3 },
  "whole" => { harm: SEGFAULT, end: CRASHED, poisons: 2, crashes: 7..8, handler: :whole },
  "spare" => { harm: SEGFAULT, end: CRASHED, options: "#{PATIENT}, spares: 2" },
  "hang" => { harm: "hang", options: ", liveness_timeout: 2, kill_timeout: 0.5",
              end: /\ASIGKILL, hung\z/ },
  "memory" => { harm: "eat", options: "#{PATIENT}, kill_timeout: 0.5, memory_limit: \"120M\"",
                end: /\ASIGKILL, memory_limit\z/ },
  "oom" => { harm: "2.times { eat }", group: 300 << 20, end: /\ASIGKILL, oom\z/ },
  "exit" => { harm: "exit!(7)", end: /\Aexit status 7\z/ },
  "exception" => { harm: "def self.deeper = deeper; deeper", end: /\Aexit status 1\z/ }
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
  def try(kind, harm:, end:, threads: 2, poisons: 1, options: PATIENT, handler: :one_by_one,
          group: nil, crashes: 3..4) # the first counts only where nothing else was in hand
    before = group && (enter(group) or missing("a control group, for #{kind}"))
    @orders, @dead = topic("orders.#{kind}", 4), topic("dead.#{kind}", 1)
    put_in(poisons)
    @swarm = run_swarm(source(kind, harm, threads, options, handler), before:)
    letters = watch(poisons)
    must("handle each good message, and no bad one") { done.uniq.size == GOOD }
    judge_letters(letters, read(@dead))
    judge_deaths(kind, binding.local_variable_get(:end), crashes)
  end

  private

  # What lets a program enter a control group with so much memory.
  def enter(bytes)
    group = SmallGroup.make(bytes) or return
    at_end { group.remove }
    group.enter
  end

  # The poisons one after the other in one partition.
  def put_in(poisons)
    bad = Array.new(poisons) { |n| ["poison #{n}", "bad", 1] }
    feed(@orders, (0...GOOD).map { |id| [id.to_s, "good", id % 4] }.insert(GOOD / 2, *bad))
  end

  def source(kind, harm, threads, options, handler)
    HANG + EAT + <<~RUBY
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "#{kind}", topics: "#{@orders}",
                                       max_messages: 50, threads: #{threads}, dead_letter_topic: "#{@dead}")
      Skep.swarm "poisoned", nodes: 2 #{options} do |swarm|
        swarm.on_boot { @file = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
        bad = -> { #{harm} }
        done = ->(messages) { @file.syswrite(messages.map { |one| "\#{one.key}\\n" }.join) }
        swarm.work(source) do |batch, node|
          #{HANDLERS.fetch(handler)}
        end
      end
    RUBY
  end

  # Until all is done; the events of those that were set aside.
  def watch(poisons)
    letters = [@swarm.await("dead_lettered", times: poisons, seconds: 120)].flatten
    @swarm.follow("every good message is handled", seconds: 60) { done.uniq.size >= GOOD }
    @swarm.follow("nobody is suspect any more") { @swarm.status("poisoned")["suspects"].empty? }
    must("stop with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    letters
  end

  def judge_letters(told, letters)
    must("set as many aside, once: #{letters}") { letters.size == told.size }
    told.zip(letters).each_with_index do |(event, letter), n|
      must("be that one: #{letter}") { letter.values_at(:key, :payload) == ["poison #{n}", "bad"] }
      judge_headers(letter[:headers], event["offset"].to_s)
    end
  end

  def judge_headers(headers, offset)
    where = headers.values_at("skep.topic", "skep.partition", "skep.offset", "skep.host")
    must("say where it was: #{headers}") { where == [@orders, "1", offset, Socket.gethostname] }
    must("say what it did: #{headers}") do
      headers.values_at("skep.crashes", "skep.attempts") == %w[3 3] &&
        headers["skep.error"].include?("crashed 3 times")
    end
  end

  def judge_deaths(kind, ending, crashes)
    told = @swarm.events.group_by { |event| event["event"] }
    deaths = told.fetch("node_died").take_while { |event| event["mono"] < stopping(told) }
    puts "#{kind}: #{deaths.size} crashes, #{done.size - GOOD} good ones handled again"
    must("crash #{crashes} times: #{deaths}") { crashes.cover?(deaths.size) }
    must("crash as it does: #{deaths}") { deaths.all? { |event| how(event).match?(ending) } }
    must("wait in no crash loop") { (told.keys & %w[node_waiting crash_loop]).empty? }
  end

  def stopping(told) = told.fetch("swarm_stopping").first["mono"]

  def how(event)
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
