# frozen_string_literal: true

# skep, run by `skep run`: nodes that accept from one socket.
require_relative "../server/programs/worker_app"
require_relative "http"

# All servers load a large application at the same time.
Skep.swarm "bench", nodes: WorkerApp.count, boot_timeout: 600, **WorkerApp.options do |swarm|
  swarm.preload do
    require_relative "application"
    SHOP = RailsApp.boot
    SOCKET = UNIXServer.new("#{WorkerApp::FOLDER}/socket")
  end
  swarm.on_exit { RailsApp.part }
  swarm.work do |node|
    WorkerApp.begin
    node.ready!
    until node.stopping?
      node.wait_for([SOCKET])
      node.processed if HTTP.serve(SOCKET, SHOP)
    end
  end
end
