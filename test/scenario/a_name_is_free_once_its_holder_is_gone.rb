# frozen_string_literal: true

# A second swarm of a living one's name is refused. After SIGKILL to the supervisor another may have
# the name at once, while the old one's nodes still finish and what its program had forked lives on.
require_relative "scenario"

Scenario.play do
  source = <<~'RUBY'
    Skep.swarm "heirs", nodes: 2, orphan_timeout: 60 do |swarm|
      swarm.work do |node|
        node.ready!
        node.wait until node.stopping?
        next unless File.exist?("#{__dir__}/gate") # the last batch takes as long as we say
        File.open("#{__dir__}/gate") { |gate| gate.sysread(1) }
        File.write("#{__dir__}/finished.#{$$}", "")
      end
    end
  RUBY
  first = run_swarm(source, in_directory: directory)
  old = first.await("node_ready", times: 2).map { |event| event["pid"] }
  second = run_swarm(source, in_directory: directory)
  must("refuse a second one: #{second.stderr}") do
    second.wait.exitstatus == 78 && second.stderr.include?("already runs") &&
      second.stderr.include?("(pid #{first.pid})")
  end
  must("leave the first alone") do
    first.status("heirs")["nodes"].map { |node| node["pid"] }.sort == old.sort
  end

  File.mkfifo("#{directory}/gate")
  first.signal(:KILL)
  gone([first.pid])
  heir = run_swarm(source, in_directory: directory)
  heir.await("node_ready", times: 2)
  must("start while the old ones still finish") { old.all? { |pid| File.exist?("/proc/#{pid}") } }
  status = heir.status("heirs")
  must("answer for itself alone: #{status}") do
    status["pid"] == heir.pid && (status["nodes"].map { |node| node["pid"] } & old).empty?
  end
  gate = File.open("#{directory}/gate", "r+")
  gate.syswrite("..")
  gone(old)
  gate.close
  must("let the old ones finish") { Dir.glob("#{directory}/finished.*").size == 2 }
  must("care for none of them") { heir.events.none? { |event| GONE.include?(event["event"]) } }
  File.unlink("#{directory}/gate")
  must("stop with 0; #{heir.account}") { heir.stop.exitstatus == 0 }

  # A program that became a supervisor, and has a child of its own that was forked meanwhile.
  program = <<~'RUBY'
    require "skep"
    swarm = Skep.swarm("heirs", nodes: 1, log_format: :json) do |described|
      described.work { |node| node.ready!; node.wait until node.stopping? }
      described.on(:node_ready) { |_| File.write("#{$place}/node", "") }
    end
    $place = ENV.fetch("PLACE")
    Thread.new do
      $stdin.gets
      $stdout.syswrite("#{fork { IO.select(nil) }}\n")
    end
    swarm.run
  RUBY
  io = IO.popen({ "SKEP_RUN_DIR" => directory, "PLACE" => directory },
                [RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-e", program], "r+")
  line = ->(pattern) { loop { (text = io.gets or raise Scenario::Failed, "it ended")[pattern] and break text } }
  node = JSON.parse(line.call(/"node_ready"/))["pid"]
  io.puts
  fork = line.call(/\A\d+$/).to_i
  mold = File.read("/proc/#{io.pid}/task/#{io.pid}/children").split.map(&:to_i)
  kill = Skep.pidfd(io.pid)
  kill.signal(:KILL)
  kill.wait(timeout: Scenario::SECONDS)
  last = run_swarm(source, in_directory: directory)
  last.await("node_ready", times: 2)
  gone([node, *(mold - [fork])])
  must("leave the program's own child alone") { File.exist?("/proc/#{fork}") }
  must("stop with 0; #{last.account}") { last.stop.exitstatus == 0 }
  Skep.pidfd(fork).signal(:KILL)
  io.close
end
