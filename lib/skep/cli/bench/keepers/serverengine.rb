# frozen_string_literal: true

# serverengine with workers as processes. Its documentation: the gem's README.
require "serverengine"
require_relative "errand"

module Idler
  def initialize
    @stop = ServerEngine::BlockingFlag.new
  end

  def run
    Errand.begin
    Errand.busy if Errand.busy?
    @stop.wait_for_set(Errand::DAY)
  end

  def stop = @stop.set!
end

Errand.preload
settings = { worker_type: "process", workers: Errand.count, daemonize: false, log: "-" }
ServerEngine.create(nil, Idler, { **settings, **Errand.options }).run
