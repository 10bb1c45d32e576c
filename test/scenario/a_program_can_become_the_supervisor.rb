# frozen_string_literal: true

# `Skep.swarm(…).run` runs the supervisor inside a program, and returns its exit code. The program's
# own child and signal handlers are left alone. Nodes end when the supervisor is killed, also after
# the mold was killed.
require_relative "scenario"

Scenario.play do
  program = File.join(directory, "program.rb")
  File.write(program, <<~RUBY)
    require "skep"
    own = Process.spawn("sleep", "60")
    received = []
    Signal.trap("USR1") { received << "mine" }
    greeting = "hello from the program"
    code = Skep.swarm("inside", nodes: 2, log_format: :json, max_restarts: 100) do |swarm|
      swarm.work { |node| node.event(:greeted, text: greeting); node.ready!; node.wait until node.stopping? }
    end.run
    Process.kill(:USR1, Process.pid)
    Process.kill(:KILL, own)
    puts({ event: "after", code:, received:, own: Process.wait2(own).last.termsig }.to_json)
  RUBY
  start = lambda do
    reader, writer = IO.pipe
    load_path = File.expand_path("../../load_path", __dir__)
    pid = Process.spawn({ "SKEP_RUN_DIR" => directory }, RbConfig.ruby, "-r", load_path, program,
                        out: writer)
    writer.close
    [pid, reader]
  end
  await = lambda do |reader, name|
    loop do
      reader.wait_readable(Scenario::SECONDS) or raise Scenario::Failed, "no #{name}"
      event = JSON.parse(reader.gets || raise(Scenario::Failed, "the program ended before #{name}"))
      break event if event["event"] == name
    end
  end

  pid, reader = start.call
  must("run the program's own block") do
    await.call(reader, "greeted")["text"] == "hello from the program"
  end
  client = Skep::Control::Client.new("#{directory}/inside.sock")
  first = await.call(reader, "node_ready")["pid"]
  await.call(reader, "node_ready")
  Skep.pidfd(first).signal(:KILL)
  await.call(reader, "node_ready")
  must("answer on the control socket") { client.call("status")["status"]["nodes"].size == 2 }
  Skep.pidfd(pid).signal(:TERM)
  after = await.call(reader, "after")
  must("return 0 and leave the program's child and handler alone: #{after}") do
    after.values_at("code", "received", "own") == [0, ["mine"], 9]
  end
  Process.wait(pid)
  reader.close

  pid, reader = start.call
  pids = Array.new(2) { await.call(reader, "node_ready")["pid"] }
  own = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
  mold = own.find { |child| command_line(child).include?("mold") }
  Skep.pidfd(mold).signal(:KILL)
  await.call(reader, "mold_ready")
  Skep.pidfd(pids.first).signal(:KILL)
  pids << await.call(reader, "node_ready")["pid"]
  Skep.pidfd(pid).signal(:KILL)
  Process.wait(pid)
  await_exit(pids)
  (own - [mold]).each do |node|
    Skep.pidfd(node).signal(:KILL)
  rescue Errno::ESRCH # it has ended already
    nil
  end
  reader.close
end
