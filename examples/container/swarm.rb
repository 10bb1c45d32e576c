# frozen_string_literal: true

# The program of the image: replace the work with yours.
# Kubernetes' probes use the address of `metrics`, from outside the container.
Skep.swarm "billing", nodes: 2, stop_timeout: 30,
                      memory_budget: "900M", metrics: "0.0.0.0:9394" do |swarm|
  swarm.work do |node|
    node.ready!
    node.wait until node.stopping?
  end
end
