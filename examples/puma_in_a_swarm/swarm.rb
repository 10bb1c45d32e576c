# frozen_string_literal: true

# A web server: each node is a Puma of one process, all of them on one port.
#
#   skep-listen 9292 skep run swarm.rb
require "skep/puma"

Skep.swarm "web", nodes: 2, liveness_timeout: 60 do |swarm|
  swarm.preload { require_relative "app" } # once, before the nodes are forked

  swarm.work(Skep::Puma.new(threads: 5, config: "-") { APP }) # without a config/puma.rb
end
