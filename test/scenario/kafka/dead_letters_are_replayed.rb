# frozen_string_literal: true

require_relative "scenario"
require "json"
require "open3"

# A handler fails while its dependency is down, and always for bad messages: both kinds become dead
# letters. `skep kafka dead` lists them by error, shows some, and counts what a replay would write.
# Once the dependency is back, it replays the first kind. Each is handled under its key and in its
# partition, and the bad messages stay. Their replays fail, and after three replays they are held. A
# purge deletes them. At the end the topic is empty, and no message is lost.
COUNT = 600
BAD = 6

class Replays < KafkaScenario
  def try
    topic("orders", 4)
    topic("dead", 2)
    swarm = run_swarm(source)
    items = (0...COUNT).map { |n| [n.to_s, n < BAD ? "bad" : "down", n % 4] }
    feed("orders", items)
    swarm.follow("all messages are dead letters", seconds: 120) do
      swarm.events.count { |event| event["event"] == "dead_lettered" } == COUNT
    end
    list
    File.write(File.join(swarm.directory, "back"), "")
    replay(swarm)
    hold(swarm)
    purge
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end

  private

  def list
    found = letters.map { |one| one.values_at("error", "topic", "count") }
    must("list both errors, not #{found}") do
      found == [["IOError", "orders", COUNT - BAD], ["ArgumentError", "orders", BAD]]
    end
    shown = dead("show", "--error", "bad", "--limit", "2", "--json").map { |one| one["payload"] }
    must("show two bad messages, not #{shown}") { shown == %w[bad bad] }
    none = Open3.capture2(*command("show", "--letter", "dead/0/999999")).first
    must("say that there is no such letter, not #{none}") { none == "no dead letters\n" }
    preview = dead("replay", "--error", "down", "--dry-run", "--json")
    must("count what a replay would write, not #{preview}") do
      preview.first.values_at("replayed", "kept") == [COUNT - BAD, BAD]
    end
    must("change nothing in a dry run") { count == COUNT }
  end

  # A killed replay loses no message: the next one continues.
  def replay(swarm)
    killed = Process.spawn(*command("replay", "--error", "down", "--rate", "50"), out: File::NULL)
    await_keys(10)
    Process.kill("KILL", killed)
    Process.wait(killed)
    done = dead("replay", "--error", "down", "--rate", "2000", "--json").first
    must("replay the dependency's messages, not #{done}") { done["replayed"] == COUNT - BAD }
    await_keys(COUNT - BAD)
    must("repeat at most what the killed replay wrote") { lines.size - (COUNT - BAD) < 500 }
    places = lines.map { |line| line.split.first(2) }.uniq
    must("write back to the original partitions, not #{places.first(5)}") do
      places.all? { |partition, key| partition.to_i == key.to_i % 4 }
    end
    @bad = count # the killed replay may have written them again without deleting them
    must("keep the bad messages, not #{letters}") do
      letters.size == 1 && @bad.between?(BAD, 2 * BAD)
    end
    puts "#{COUNT - BAD} replayed at 2,000 a second, #{swarm.events.size} events"
  end

  def hold(swarm)
    3.times do
      done = dead("replay", "--json").first
      must("replay the bad messages, not #{done}") { done["replayed"] == @bad }
      swarm.follow("they are dead letters again") { count == @bad }
    end
    done = dead("replay", "--json").first
    must("hold messages after three replays, not #{done}") { done["held"] == @bad }
  end

  def purge
    unknown = Open3.capture3(RbConfig.ruby, Scenario::RunningSwarm::SKEP, "kafka", "dead", "nosuch",
                             "--brokers", broker.address)
    must("report the unknown topic, not #{unknown}") do
      unknown[1].include?("has no topic nosuch") && unknown.last.exitstatus == 1
    end
    refused = Open3.capture3(*command("purge"))
    must("delete nothing without --yes, not #{refused}") { refused.last.exitstatus == 64 }
    deleted = dead("purge", "--from", "orders", "--yes", "--json").first
    must("purge the remaining letters, not #{deleted}") { deleted["deleted"] == @bad }
    must("list nothing after the purge") { letters.empty? }
    feed("dead", [["k", "\xFF\x00".b, 0]])
    shown = dead("show", "--json").first
    must("show a binary payload in base64, not #{shown}") do
      shown.values_at("key", "payload", "payload_base64") == ["k", nil, "/wA="]
    end
    keep_other_messages
  end

  # A purge of an ordinary topic: one `.dead` was forgotten.
  def keep_other_messages
    text, = Open3.capture2(*command("purge", "--yes"))
    must("keep what is no dead letter, and print why, not #{text}") do
      text.start_with?("0 deleted\n1 kept, since it isn't a dead letter of skep's: --unknown")
    end
    must("keep it in the topic") { count == 1 }
    deleted = dead("purge", "--unknown", "--yes", "--json").first
    must("delete it with --unknown, not #{deleted}") { deleted["deleted"] == 1 && letters.empty? }
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
            raise IOError, "down" unless File.exist?("\#{__dir__}/back")

            File.write("#{file}", "\#{message.partition} \#{message.key}\\n", mode: "a")
          end
        end
      end
    RUBY
  end
end

Replays.play { try }
