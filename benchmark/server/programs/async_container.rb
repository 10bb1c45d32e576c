# frozen_string_literal: true

# async-container's controller with forked children that it restarts. A child with a health check
# has to report at intervals that it is ready.
require "async/container"
require_relative "worker_app"

PULSE = 0.25 # seconds between a child's health reports

class Controller < Async::Container::Controller
  def create_container = Async::Container::Forked.new

  def setup(container)
    container.run(count: WorkerApp.count, restart: true, **WorkerApp.options) do |instance|
      WorkerApp.begin
      instance.ready!
      WorkerApp.options.empty? ? WorkerApp.work : beat(instance)
    end
  end

  def beat(instance)
    loop do
      WorkerApp.idle(PULSE)
      instance.ready!
    end
  end
end

WorkerApp.preload
Controller.new.run
