# frozen_string_literal: true

# Ours, run by `skep run`: nodes that accept from one socket.
require_relative "../errand"
require_relative "http"

Skep.swarm "bench", nodes: Errand.count, **Errand.options do |swarm|
  swarm.preload do
    require_relative "application"
    SHOP = Shop.boot
    SOCKET = UNIXServer.new("#{Errand::FOLDER}/socket")
  end
  swarm.on_exit { Shop.part }
  swarm.work do |child|
    Errand.begin
    child.ready!
    until child.stopping?
      child.wait_for([SOCKET])
      child.count if HTTP.serve(SOCKET, SHOP)
    end
  end
end
