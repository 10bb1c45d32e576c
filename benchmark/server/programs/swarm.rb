# frozen_string_literal: true

# skep, run by `skep run`.
require_relative "worker_app"

Skep.swarm "bench", nodes: WorkerApp.count, **WorkerApp.options do |swarm|
  swarm.preload { WorkerApp.preload }
  swarm.work do |node|
    WorkerApp.begin
    node.ready!
    WorkerApp.busy if WorkerApp.busy?
    node.wait until node.stopping?
  end
end
