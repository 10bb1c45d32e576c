# frozen_string_literal: true

# With `core: true` a hung node ends by ABRT, also when it is stopped, so that the kernel can leave
# a core; without it by KILL.
require_relative "scenario"

ENDS = lambda do |core|
  <<~RUBY
    Skep.swarm "core", nodes: 2, liveness_timeout: 1, kill_timeout: 5, core: #{core} do |swarm|
      swarm.work do |child|
        first = !File.exist?("\#{__dir__}/again\#{child.id}")
        File.write("\#{__dir__}/again\#{child.id}", "")
        Dir.chdir(__dir__)
        child.ready!
        Process.kill(:STOP, Process.pid) if first && child.id == 1
        IO.select(nil, nil, nil, 3600) if first
        child.wait until child.stopping?
      end
    end
  RUBY
end

Scenario.play do
  { true => "ABRT", false => "KILL" }.each do |core, signal|
    swarm = run_swarm(ENDS.call(core))
    died = swarm.await(GONE, times: 2)
    must("end both by #{signal}: #{died}") do
      died.all? { |event| event.values_at("signal", "reason") == [signal, "hung"] }
    end
    swarm.await("node_ready", times: 4)
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end
end
