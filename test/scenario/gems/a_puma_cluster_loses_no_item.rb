# frozen_string_literal: true

# A real Puma cluster with a preloaded application and no Puma hooks: each worker has a thread of
# the Background. A worker handles each item that it accepted once. After TERM it finishes its
# items. After SIGKILL it loses only the items in its inbox and in flight.
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
  must("handle each item in the worker that accepted it") do
    handled.all? { |item, pid, _| (accepted[item] || pid) == pid }
  end
  must("handle items from the preload in the master only") do
    handled.select { |item, _| item.start_with?("boot") }.map { |_, pid, _| pid } == [puma.pid] * 3
  end
  must("lose items of the killed worker only: #{lost.map { |item| accepted[item] }.tally}") do
    lost.all? { |item| accepted[item] == killed }
  end
  must("lose its newest items only: #{lost}") do
    theirs = accepted.keys.select { |item| accepted[item] == killed }
    (lost - theirs.last(lost.size + GemScenario::THREADS)).empty?
  end
  must("accept each item that it answered") { (answered - accepted.keys).empty? }
  must("answer all but the killed worker's requests in flight: #{answered.size}") do
    answered.size >= requests - GemScenario::CLIENTS
  end
  shares = accepted.values.tally
  must("use both workers, and a replacement: #{shares}") do
    shares.key?(ended) && shares.key?(killed) && shares.size >= 3
  end
  must("cause no Puma warning about its thread: #{puma.lines.join}") do
    puma.lines.none?(/started in app boot/)
  end
  puts "#{requests} requests, #{answered.size} answered, #{accepted.size} items accepted by " \
       "#{shares.size} workers, #{lost.size} lost with the killed one"
end
