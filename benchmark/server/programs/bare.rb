# frozen_string_literal: true

# The simplest possible supervisor: reaps a child and forks the next one.
require_relative "worker_app"

def bear
  fork do
    WorkerApp.begin
    WorkerApp.work
  end
end

WorkerApp.preload
WorkerApp.count.times { bear }
loop do
  Process.wait
  bear
end
