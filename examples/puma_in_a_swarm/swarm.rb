# frozen_string_literal: true

# A web server: each node is a Puma of one process, all of them on one port. README.md compares it
# with Puma's own cluster.
#
#   ./listen 9292 bundle exec skep run swarm.rb
require "socket"

Skep.swarm "web", nodes: 2, liveness_timeout: 60 do |swarm|
  swarm.preload do
    require "puma"
    require "puma/server"
    require_relative "app"
  end

  # As Puma's own command reads it. In development, Puma answers an error that the application
  # doesn't rescue with a backtrace.
  environment = ENV.values_at("APP_ENV", "RACK_ENV", "RAILS_ENV").compact.first || "development"

  swarm.work do |node|
    puma = Puma::Server.new(APP, nil, min_threads: 1, max_threads: 5, environment:)
    puma.binder.inherit_tcp_listener(nil, nil, TCPServer.for_fd(3))
    accepting = puma.run
    node.ready!
    until node.stopping?
      raise "Puma has stopped accepting" unless accepting.alive?

      node.work = { totals: { requests: puma.stats[:requests_count] } }
      node.wait(10)
    end
    puma.stop(true) # stops accepting, and answers all accepted requests
  end
end
