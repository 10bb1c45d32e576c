# frozen_string_literal: true

# The supervisor is killed, and the kernel closes its end of the channels. Its nodes finish and exit
# with 3, the mold exits, and a new supervisor of the same name starts at once.
require_relative "scenario"

Scenario.play do
  source = <<~RUBY
    Skep.swarm "orphans", nodes: 3 do |swarm|
      swarm.on_exit { |node| File.write("\#{__dir__}/exit.\#{node.id}", "stopping=\#{node.stopping?}") }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  2.times do |round|
    File.unlink(*Dir.glob("#{directory}/exit.*")) # from the previous round
    swarm = run_swarm(source, in_directory: directory)
    nodes = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
    mold = swarm.await("mold_ready")["pid"]
    pidfds = nodes.map { |pid| Skep.pidfd(pid) }
    swarm.signal(:KILL)
    must("die by KILL") { swarm.wait.termsig == 9 }
    await_exit([*nodes, mold])
    statuses = pidfds.map { |pidfd| pidfd.wait(timeout: 0) }
    must("end its orphans with 3, if known (#{statuses.inspect}), round #{round}") do
      statuses.all? { |status| status.exitstatus.nil? || status.exitstatus == 3 }
    end
    must("run on_exit in each orphan") do
      (0..2).all? { |id| File.read("#{directory}/exit.#{id}") == "stopping=true" }
    end
    pidfds.each(&:close)
  end
  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: 3)
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
