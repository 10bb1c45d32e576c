# frozen_string_literal: true

# A broker dies or hangs while a swarm with `leave_on_stop` stops: before the nodes have committed,
# or when the first one has and waits for the other. They can't leave their group then. They give up
# after a part of stop_timeout and report it, and none is killed.
require_relative "scenario"

STOP_TIMEOUT = 20.0 # seconds, of KafkaScenario#reader

KafkaScenario.play do
  orders = topic("orders", 4)
  hold, reached = %w[hold reached].map { |name| File.join(directory, name) }
  # While the first one, a FIFO, is open, a handler doesn't return, and the other node waits.
  body = <<~RUBY
    if File.exist?(#{hold.inspect})
      File.write(#{reached.inspect}, "")
      File.read(#{hold.inspect})
    end
  RUBY
  java = -> { Integer(File.read(File.join(directory, "broker", "broker.pid"))) }
  produced = 0

  [%i[before STOP], %i[after STOP], %i[before KILL], %i[after KILL]].each do |moment, signal|
    case_name = "#{signal} #{moment} the first commit"
    group = "#{signal}-#{moment}"
    swarm = run_swarm(reader(orders, group:, body:,
                                     more: ", commit_interval: 60, leave_on_stop: true"))
    await_assignment(4, swarm, nodes: 2)
    feed(orders, (produced...produced + 100).map { |n| [n.to_s, "v", n % 4] })
    await_keys(produced += 100)
    FileUtils.rm_f(reached)
    File.mkfifo(hold)
    gate = File.open(hold, File::RDWR)
    feed(orders, [[produced.to_s, "v", 0]])
    produced += 1
    swarm.follow("a handler waits") { File.exist?(reached) }

    swarm.kill(java.call, signal) if moment == :before
    swarm.signal(:TERM)
    began = Skep::OS.now
    swarm.await("swarm_stopping")
    if moment == :after
      swarm.follow("a node has committed") { committed(group, orders, 4)&.positive? }
      swarm.kill(java.call, signal)
    end
    gate.close
    File.delete(hold)
    status = swarm.wait
    seconds = Skep::OS.now - began
    puts format("%s: %.1f s", case_name, seconds)
    must("exit with 0 (#{case_name}), not #{status}; #{swarm.account}") { status.exitstatus == 0 }
    must("stop within #{seconds} s (#{case_name})") { seconds < STOP_TIMEOUT * 0.9 }
    given_up = swarm.events.select { |event| event["event"] == "kafka_leave_failed" }
    must("report it (#{case_name}); #{swarm.account}") { given_up.any? }

    signal == :STOP ? swarm.kill(java.call, :CONT) : broker.kill.then { broker.start }
  end
end
