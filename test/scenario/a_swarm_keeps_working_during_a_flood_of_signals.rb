# frozen_string_literal: true

# The supervisor, the mold and the nodes receive ten thousand signals a second while nodes are
# killed. Each killed node is replaced, the supervisor's memory doesn't grow, and TERM still stops
# the swarm with 0.
require_relative "scenario"

class Scenario
  # A process that sends other processes ten thousand signals a second, for so many seconds.
  class Flood
    QUIET = %w[CHLD CONT WINCH URG].freeze # signals without a visible effect

    def initialize(pids, names, seconds)
      @reader, writer = IO.pipe
      pidfds = pids.map { |pid| Skep.pidfd(pid) } # before the fork: some processes may end soon
      @pid = fork do
        @reader.close
        send_signals(pidfds, names, writer, Skep::OS.now + seconds)
        exit!(0)
      end
      [writer, *pidfds].each(&:close)
    end

    # Waits until the first signal has been sent.
    def await_first = @reader.readpartial(1)

    # Waits for its end; returns how many signals were sent.
    def wait
      Integer(@reader.read.delete("."), 10).tap { Process.wait(@pid) }
    ensure
      @reader.close
    end

    private

    # Sends ten signals a millisecond, at a constant rate.
    def send_signals(pidfds, names, writer, ends)
      sent = 0
      began = Skep::OS.now
      until Skep::OS.now > ends
        writer.write(".") if sent == 1
        signal(pidfds, names[sent % names.size], sent)
        sent += 1
        ahead = began + sent / 10_000.0 - Skep::OS.now
        IO.select(nil, nil, nil, ahead) if ahead > 0.001
      end
      writer.write(sent)
    end

    def signal(pidfds, name, number)
      pidfds[number % pidfds.size].signal(name)
    rescue Errno::ESRCH # a node that was killed meanwhile
      nil
    end
  end
end

Scenario.play do
  seconds = Float(ENV.fetch("SECONDS", "2"))
  log = File.join(directory, "log")
  swarm = run_swarm(IDLE, arguments: ["--log", log])
  swarm.follow("all ready") { File.exist?(log) && File.read(log).scan("node_ready").size == 3 }
  feed = swarm.follow_socket("idle")
  quiet = Scenario::Flood::QUIET
  received = Hash.new(0)
  await_event = lambda do |name, times|
    deadline = Skep::OS.now + Scenario::SECONDS
    while received[name] < times
      must("publish #{name}; received #{received}") do
        feed.to_io.wait_readable([deadline - Skep::OS.now, 0].max) && !feed.ended?
      end
      feed.read.each { |event| received[event["event"]] += 1 }
    end
  end

  mold = JSON.parse(File.readlines(log).grep(/mold_ready/).first)["pid"]
  nodes = swarm.status("idle")["nodes"].map { |node| node["pid"] }
  flood_of = ->(pids, names) { Scenario::Flood.new(pids, names, seconds) }
  memory = -> { Skep::OS::Memory.of(swarm.pid).uss }
  sent = flood_of.call([swarm.pid], [*quiet, "USR1"]).wait # warms up
  before = memory.call
  2.times { sent += flood_of.call([swarm.pid], [*quiet, "USR1"]).wait }
  must("not grow: #{before}, #{memory.call}") { memory.call < before * 1.25 }

  floods = [[swarm.pid], [mold, *nodes]].map { |pids| flood_of.call(pids, quiet) }
  5.times do |number|
    swarm.kill(swarm.status("idle")["nodes"][number % 3]["pid"])
    await_event.call("node_ready", number + 1)
  end
  sent += floods.sum(&:wait)
  must("lose no event: #{feed.lost}") { feed.lost.zero? }
  must("have sent a flood: #{sent} signals") { sent > 5_000 * seconds }

  flood = flood_of.call([swarm.pid], [*quiet, "USR1", "TTIN"])
  flood.await_first
  status = swarm.stop
  puts "#{sent + flood.wait} signals"
  must("stop with 0 during the flood: #{status.inspect} #{swarm.stderr}") do
    status.exitstatus == 0
  end
  feed.close
end
