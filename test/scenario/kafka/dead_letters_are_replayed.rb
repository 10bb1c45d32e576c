# frozen_string_literal: true

require_relative "scenario"
require "json"
require "open3"

# A handler fails while its dependency is away, and always for bad messages: both become dead
# letters. `skep kafka dead` lists them by error, shows one, counts what a replay would do, and
# writes back those of the dependency, which is there again. Each is handled then, under its key and
# in its partition; the others stay. Bad messages come back, and are held after three replays; a
# purge deletes them. The topic is empty in the end, and nothing is lost.
COUNT = 600
BAD = 6

class Dead < KafkaScenario
  def try
    topic("orders", 4)
    topic("dead", 2)
    swarm = run_swarm(source)
    items = (0...COUNT).map { |n| [n.to_s, n < BAD ? "bad" : "away", n % 4] }
    feed("orders", items)
    swarm.follow("all are dead letters", seconds: 120) do
      swarm.events.count { |event| event["event"] == "dead_lettered" } == COUNT
    end
    listed
    File.write(File.join(swarm.directory, "back"), "")
    replay(swarm)
    hold(swarm)
    purge
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end

  private

  def listed
    found = letters.map { |one| one.values_at("error", "topic", "count") }
    must("list both errors, not #{found}") do
      found == [["IOError", "orders", COUNT - BAD], ["ArgumentError", "orders", BAD]]
    end
    shown = dead("show", "--error", "bad", "--limit", "2", "--json").map { |one| one["payload"] }
    must("show two of the bad ones, not #{shown}") { shown == %w[bad bad] }
    would = dead("replay", "--error", "away", "--dry-run", "--json")
    must("say what a replay would do, not #{would}") do
      would.first.values_at("replayed", "kept") == [COUNT - BAD, BAD]
    end
    must("change nothing") { count == COUNT }
  end

  # A replay that is killed loses nothing: the next one goes on.
  def replay(swarm)
    killed = Process.spawn(*command("replay", "--error", "away", "--rate", "50"), out: File::NULL)
    await_keys(10)
    Process.kill("KILL", killed)
    Process.wait(killed)
    done = dead("replay", "--error", "away", "--rate", "2000", "--json").first
    must("replay those of the dependency, not #{done}") { done["replayed"] == COUNT - BAD }
    await_keys(COUNT - BAD)
    must("repeat at most what the killed one did") { lines.size - (COUNT - BAD) < 500 }
    places = lines.map { |line| line.split.first(2) }.uniq
    must("write back to their partitions, not #{places.first(5)}") do
      places.all? { |partition, key| partition.to_i == key.to_i % 4 }
    end
    @bad = count # the killed one may have written the others again, without deleting them
    must("keep the others, not #{letters}") { letters.size == 1 && @bad.between?(BAD, 2 * BAD) }
    puts "#{COUNT - BAD} replayed at 2,000 a second, #{swarm.events.size} events"
  end

  def hold(swarm)
    3.times do
      done = dead("replay", "--json").first
      must("replay the bad ones, not #{done}") { done["replayed"] == @bad }
      swarm.follow("they are back") { count == @bad }
    end
    done = dead("replay", "--json").first
    must("hold what was replayed three times, not #{done}") { done["held"] == @bad }
  end

  def purge
    unknown = Open3.capture3(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka", "dead", "nosuch",
                             "--brokers", broker.address)
    must("say that there is no such topic, not #{unknown}") do
      unknown[1].include?("has no topic nosuch") && unknown.last.exitstatus == 1
    end
    refused = Open3.capture3(*command("purge"))
    must("delete nothing without --yes, not #{refused}") { refused.last.exitstatus == 64 }
    deleted = dead("purge", "--from", "orders", "--yes", "--json").first
    must("purge the rest, not #{deleted}") { deleted["deleted"] == @bad }
    must("have an empty topic") { letters.empty? }
    feed("dead", [["k", "\xFF\x00".b, 0]])
    shown = dead("show", "--json").first
    must("show in base64 what is no text, not #{shown}") do
      shown.values_at("key", "payload", "payload_base64") == ["k", nil, "/wA="]
    end
  end

  def letters = dead("list", "--json")
  def count = letters.sum { |one| one["count"] }

  def dead(*arguments)
    out, err, status = Open3.capture3(*command(*arguments))
    raise Failed, "skep kafka dead #{arguments.join(" ")}: #{err}" unless status.success?

    out.lines.map { |line| JSON.parse(line) }
  end

  def command(*arguments)
    [RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka", "dead", "dead", *arguments,
     "--brokers", broker.address]
  end

  def source
    <<~RUBY
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                       group: "readers", topics: "orders", max_attempts: 1,
                                       retry_for: nil, dead_letter_topic: "dead", max_messages: 1)
      Skep.swarm "readers", nodes: 2 do |swarm|
        swarm.work(source) do |batch, _|
          batch.each do |message|
            raise ArgumentError, "bad" if message.payload == "bad"
            raise IOError, "away" unless File.exist?("\#{__dir__}/back")

            File.write("#{file}", "\#{message.partition} \#{message.key}\\n", mode: "a")
          end
        end
      end
    RUBY
  end
end

Dead.play { try }
