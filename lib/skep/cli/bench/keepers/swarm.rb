# frozen_string_literal: true

# Ours, run by `skep run`.
require_relative "errand"

Skep.swarm "bench", nodes: Errand.count, **Errand.options do |swarm|
  swarm.preload { Errand.preload }
  swarm.work do |child|
    Errand.begin
    child.ready!
    Errand.busy if Errand.busy?
    child.wait until child.stopping?
  end
end
