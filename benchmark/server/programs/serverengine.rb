# frozen_string_literal: true

# serverengine with workers as processes. Its documentation: the gem's README.
require "serverengine"
require_relative "worker_app"

module Idler
  def initialize
    @stop = ServerEngine::BlockingFlag.new
  end

  def run
    WorkerApp.begin
    WorkerApp.busy if WorkerApp.busy?
    @stop.wait_for_set(WorkerApp::DAY)
  end

  def stop = @stop.set!
end

WorkerApp.preload
settings = { worker_type: "process", workers: WorkerApp.count, daemonize: false, log: "-" }
ServerEngine.create(nil, Idler, { **settings, **WorkerApp.options }).run
