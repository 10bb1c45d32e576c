# frozen_string_literal: true

# A real Puma cluster with an application preloaded, no hook of Puma's in use: each of its workers
# has the Background's thread. What a worker accepted is handled there, once; ended by TERM it
# finishes first; killed it loses no more than what was in its inbox and in hand.
require_relative "scenario"

GemScenario.play do
  requests = 1_000
  puma = run_puma(workers: 2)
  ended, killed = workers(puma)
  answered = ask((1..requests).map(&:to_s)) do |done|
    signal(ended, :TERM) if done == 300
    signal(killed, :KILL) if done == 600
  end
  stop(puma)

  items = handled.map(&:first)
  lost = accepted.keys - items
  must("handle no item twice: #{items.tally.select { |_, times| times > 1 }}") do
    items.uniq == items
  end
  must("handle on the Background's thread") do
    handled.all? { |_, _, thread| thread == "skep.mailer" }
  end
  must("handle each item where it was accepted") do
    handled.all? { |item, pid, _| (accepted[item] || pid) == pid }
  end
  must("do in the master alone what was pushed at preload") do
    handled.select { |item, _| item.start_with?("boot") }.map { |_, pid, _| pid } == [puma.pid] * 3
  end
  must("lose nothing but of the killed worker: #{lost.map { |item| accepted[item] }.tally}") do
    lost.all? { |item| accepted[item] == killed }
  end
  must("lose no more than its backlog: #{lost.size}") { lost.size <= GemScenario::LIMIT + 1 }
  must("accept what it answered") { (answered - accepted.keys).empty? }
  must("answer all but what the killed worker had in hand: #{answered.size}") do
    answered.size >= requests - GemScenario::CLIENTS
  end
  shares = accepted.values.tally
  must("have both workers work, and one in their place: #{shares}") do
    shares.key?(ended) && shares.key?(killed) && shares.size >= 3
  end
  must("not alarm Puma by its thread: #{puma.lines.join}") do
    puma.lines.none?(/started in app boot/)
  end
  puts "#{requests} requests, #{answered.size} answered, #{accepted.size} items accepted by " \
       "#{shares.size} workers, #{lost.size} lost with the killed one"
end
