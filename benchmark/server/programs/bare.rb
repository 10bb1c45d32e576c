# frozen_string_literal: true

# The simplest possible supervisor: reaps a child and forks the next one.
require_relative "worker_app"

def fork_worker
  fork do
    WorkerApp.begin
    WorkerApp.work
  end
end

WorkerApp.preload
WorkerApp.count.times { fork_worker }
loop do
  Process.wait
  fork_worker
end
