# frozen_string_literal: true

# Puma without workers, ended by TERM with items in the inbox: they are handled before it is gone.
require_relative "scenario"

GemScenario.play do
  puma = run_puma(workers: 0)
  answered = ask((1..100).map(&:to_s))
  stop(puma)

  must("answer all") { answered.size == 100 }
  must("handle all, each once: #{handled.size}") do
    handled.map(&:first).tally == [*%w[boot0 boot1 boot2], *answered].tally
  end
  must("do it in its own process") { handled.all? { |_, pid, _| pid == puma.pid } }
end
