# frozen_string_literal: true

# A worker in a Procfile: `foreman start -t 35`, `overmind start`.
#
# foreman kills its processes after the seconds of -t, 5 by default. Set it above stop_timeout, or
# the nodes have no time to finish.
Skep.swarm "worker", nodes: 2, stop_timeout: 30 do |swarm|
  swarm.work do |node|
    puts "node #{node.id} works"
    node.ready!
    node.wait until node.stopping?
    puts "node #{node.id} has finished"
  end
end
