# frozen_string_literal: true

require "skep/kafka/testing"
require_relative "scenario"
require_relative "../../../examples/windowed_count/counts"

# examples/windowed_count, while its nodes are killed and the database crashes: each view is counted
# once in its minute, and late views separately.
ExampleScenario.play do
  views, partitions, began = 20_000, 8, 1_700_000_040_000
  topics("views" => partitions, "views.dead" => 1)
  database.load("#{ExampleScenario::EXAMPLES}/windowed_count/schema.sql")

  random = Random.new(7)
  messages = Array.new(views) do |number|
    page = random.rand(40)
    at = began + (number * 20) - random.rand(25_000) - (random.rand(100).zero? ? 200_000 : 0)
    ["/#{page}", JSON.generate(page: "/#{page}", at:), page % partitions]
  end

  newest = Hash.new(0)
  expected = messages.each_with_object(Hash.new(0)) do |(page, payload, partition), counts|
    at = JSON.parse(payload)["at"]
    minute = at / 60_000 * 60
    late = (minute + 60) * 1_000 + 30_000 <= newest[partition]
    newest[partition] = [newest[partition], at].max
    counts[[page, minute, late]] += 1
  end
  counted = -> { Integer(database.query("SELECT coalesce(sum(views + late), 0) FROM page_views")) }

  again = lambda do |partition|
    some = messages.select { |_, _, number| number == partition }.each_with_index
    Skep::Kafka::Testing.batch("views", some.map do |(page, payload, _), offset|
      Skep::Kafka::Message.new("views", partition, offset, page, payload, 0, {})
    end, partition:)
  end

  swarm = run_example("windowed_count", "DATABASE_URL" => database.url)
  messages.each_slice(views / 3).with_index do |some, round|
    before = counted.call
    feed("views", some)
    kill_at(swarm, [before + 1]) { counted.call }
    database.restart("immediate") if round == 1
  end
  # A batch that two nodes died with is processed message by message, a transaction each.
  swarm.follow("all views are counted", seconds: 120) { counted.call >= views }
  stop_well(swarm)

  Counts.new(database.url).add(again.call(0), nil) # by a process that was considered dead
  rows = database.query("SELECT page, extract(epoch FROM minute)::int, views, late FROM page_views")
  found = rows.lines(chomp: true).each_with_object({}) do |row, counts|
    page, minute, *numbers = row.split("|")
    [false, true].zip(numbers.map(&:to_i)) do |late, number|
      counts[[page, minute.to_i, late]] = number if number.positive?
    end
  end
  must("count each view once, late views separately") { found == expected }
  must("have had late views") { expected.any? { |(_, _, late), _| late } }
end
