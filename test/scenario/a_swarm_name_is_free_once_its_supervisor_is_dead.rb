# frozen_string_literal: true

# A second swarm with the name of a running swarm is refused. Once the supervisor is killed, a new
# swarm may take the name at once. Meanwhile the old nodes finish, and children of the old program
# continue.
require_relative "scenario"

Scenario.play do
  source = <<~'RUBY'
    Skep.swarm "named", nodes: 2, orphan_timeout: 60 do |swarm|
      swarm.work do |node|
        node.ready!
        node.wait until node.stopping?
        next unless File.exist?("#{__dir__}/gate") # the last batch takes until the gate opens
        File.open("#{__dir__}/gate") { |gate| gate.sysread(1) }
        File.write("#{__dir__}/finished.#{$$}", "")
      end
    end
  RUBY
  first = run_swarm(source, in_directory: directory)
  old = first.await("node_ready", times: 2).map { |event| event["pid"] }
  second = run_swarm(source, in_directory: directory)
  must("refuse a second swarm: #{second.stderr}") do
    second.wait.exitstatus == 78 && second.stderr.include?("already runs") &&
      second.stderr.include?("(pid #{first.pid})")
  end
  must("leave the first swarm alone") do
    first.status("named")["nodes"].map { |node| node["pid"] }.sort == old.sort
  end

  File.mkfifo("#{directory}/gate")
  first.signal(:KILL)
  await_exit([first.pid])
  successor = run_swarm(source, in_directory: directory)
  successor.await("node_ready", times: 2)
  must("start while the old nodes still run") { old.all? { |pid| File.exist?("/proc/#{pid}") } }
  status = successor.status("named")
  must("list only its own nodes: #{status}") do
    status["pid"] == successor.pid && (status["nodes"].map { |node| node["pid"] } & old).empty?
  end
  gate = File.open("#{directory}/gate", "r+")
  gate.syswrite("..")
  await_exit(old)
  gate.close
  must("let the old nodes finish") { Dir.glob("#{directory}/finished.*").size == 2 }
  must("log no old node exit") { successor.events.none? { |event| GONE.include?(event["event"]) } }
  File.unlink("#{directory}/gate")
  must("stop with 0; #{successor.account}") { successor.stop.exitstatus == 0 }

  # A program runs the supervisor, and forks a child of its own meanwhile.
  program = <<~'RUBY'
    require "skep"
    swarm = Skep.swarm("named", nodes: 1, log_format: :json) do |described|
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
                [RbConfig.ruby, "-r", File.expand_path("../../load_path", __dir__), "-e", program],
                "r+")
  line = lambda do |pattern|
    loop do
      text = io.gets or raise Scenario::Failed, "the program ended"
      break text if text[pattern]
    end
  end
  node = JSON.parse(line.call(/"node_ready"/))["pid"]
  io.puts
  child = line.call(/\A\d+$/).to_i
  mold = File.read("/proc/#{io.pid}/task/#{io.pid}/children").split.map(&:to_i)
  kill = Skep.pidfd(io.pid)
  kill.signal(:KILL)
  kill.wait(timeout: Scenario::SECONDS)
  last = run_swarm(source, in_directory: directory)
  last.await("node_ready", times: 2)
  await_exit([node, *(mold - [child])])
  must("leave the program's own child alone") { File.exist?("/proc/#{child}") }
  must("stop with 0; #{last.account}") { last.stop.exitstatus == 0 }
  Skep.pidfd(child).signal(:KILL)
  io.close
end
