# frozen_string_literal: true

# A worker beside whatever else a Procfile starts: `foreman start -t 35`, `overmind start`.
#
# foreman waits as long as -t says, 5 seconds by default, and then kills: give it more than
# stop_timeout, or the nodes have no time to finish.
Skep.swarm "worker", nodes: 2, stop_timeout: 30 do |swarm|
  swarm.work do |node|
    puts "node #{node.id} works"
    node.ready!
    node.wait until node.stopping?
    puts "node #{node.id} has finished"
  end
end
