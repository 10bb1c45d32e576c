# frozen_string_literal: true

# Puma without workers gets TERM with items in the inbox: it handles them before it exits.
require_relative "scenario"

GemScenario.play do
  puma = run_puma(workers: 0)
  answered = ask((1..100).map(&:to_s))
  stop(puma)

  must("answer all requests") { answered.size == 100 }
  must("handle each item once: #{handled.size}") do
    handled.map(&:first).tally == [*%w[boot0 boot1 boot2], *answered].tally
  end
  must("handle items in its own process") { handled.all? { |_, pid, _| pid == puma.pid } }
end
