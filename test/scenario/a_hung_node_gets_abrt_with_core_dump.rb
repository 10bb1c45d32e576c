# frozen_string_literal: true

# With `core_dump: true` a hung node gets ABRT, also while it is stopped (SIGSTOP), so that the
# kernel can write a core file. Without the option it gets KILL.
require_relative "scenario"

SOURCE = lambda do |core|
  <<~RUBY
    Skep.swarm "core", nodes: 2, liveness_timeout: 1, kill_timeout: 5, core_dump: #{core} do |swarm|
      swarm.work do |node|
        first = !File.exist?("\#{__dir__}/again\#{node.id}")
        File.write("\#{__dir__}/again\#{node.id}", "")
        Dir.chdir(__dir__)
        node.ready!
        Process.kill(:STOP, Process.pid) if first && node.id == 1
        IO.select(nil, nil, nil, 3600) if first
        node.wait until node.stopping?
      end
    end
  RUBY
end

Scenario.play do
  { true => "ABRT", false => "KILL" }.each do |core, signal|
    swarm = run_swarm(SOURCE.call(core))
    died = swarm.await(GONE, times: 2)
    must("end both nodes by #{signal}: #{died}") do
      died.all? { |event| event.values_at("signal", "reason") == [signal, "hung"] }
    end
    swarm.await("node_ready", times: 4)
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end
end
