# frozen_string_literal: true

# A node without free descriptors can't count its pages for `memory_limit`. It continues. Once it
# has free descriptors, it is measured, and it is replaced when it exceeds the limit.
require_relative "scenario"

SOURCE = <<~RUBY
  BALLAST = "x" * (120 << 20) # shared with the mold, which only a count of the pages shows
  Skep.swarm "starved", nodes: 1, memory_limit: "100M" do |swarm|
    swarm.work do |node|
      gate = File.open("\#{__dir__}/gate", "r+")
      Process.setrlimit(:NOFILE, Dir.children("/proc/self/fd").map(&:to_i).max + 8)
      held = []
      begin
        loop { held << File.open("/dev/null") }
      rescue Errno::EMFILE
        node.ready!
      end
      rounds = 0
      until node.stopping? || node.wait_for([gate], 0.25).any?
        node.event(:worked, round: rounds += 1)
      end
      next if node.stopping?

      gate.getc
      held.each(&:close)
      node.wait_for([gate]).each(&:getc)
      leak = "y" * (110 << 20)
      node.wait until node.stopping?
      leak.clear
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE, prepare: ->(directory) { File.mkfifo("#{directory}/gate") })
  gate = File.open("#{swarm.directory}/gate", "r+")
  pid = swarm.await("node_ready")["pid"]

  swarm.await("worked") { |event| event["round"] == 10 } # skep has requested a count by then
  must("keep the node") { swarm.events.none? { |event| GONE.include?(event["event"]) } }
  gate.syswrite("c")
  swarm.follow("the node is measured") { swarm.status("starved")["nodes"][0]["memory"]["uss"] }
  must("keep the process: #{swarm.account}") do
    swarm.status("starved")["nodes"][0].values_at("pid", "restarts") == [pid, 0]
  end

  gate.syswrite("g")
  swarm.await("node_over_limit")
  died = swarm.await(GONE)
  must("replace it with reason memory_limit: #{died}") do
    died.values_at("pid", "exit_status", "reason") == [pid, 0, "memory_limit"]
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
