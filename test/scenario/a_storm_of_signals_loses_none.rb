# frozen_string_literal: true

# Ten thousand signals a second, to the supervisor, the mold and the nodes, while nodes are killed:
# each death is answered, nothing grows, and a TERM in the midst of it stops the swarm, with 0.
require_relative "scenario"

class Scenario
  # A process that signals others as fast as it can be read. It ends when the pipe is closed.
  class Storm
    QUIET = %w[CHLD CONT WINCH URG].freeze # no answer is expected to them

    def initialize(pids, names, seconds)
      @reader, writer = IO.pipe
      pidfds = pids.map { |pid| Skep.pidfd(pid) } # here: some of them may soon be gone
      @pid = fork do
        @reader.close
        blow(pidfds, names, writer, Skep::OS.now + seconds)
        exit!(0)
      end
      [writer, *pidfds].each(&:close)
    end

    # The first has been sent.
    def begun = @reader.readpartial(1)

    # How many were sent.
    def wait
      Integer(@reader.read.delete("."), 10).tap { Process.wait(@pid) }
    ensure
      @reader.close
    end

    private

    # Ten a millisecond, so that it is a rate and not a race.
    def blow(pidfds, names, writer, ends)
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
    rescue Errno::ESRCH # one of the nodes that are killed meanwhile
      nil
    end
  end
end

Scenario.play do
  seconds = Float(ENV.fetch("SECONDS", "2"))
  log = File.join(directory, "log")
  swarm = run_swarm(IDLE, arguments: ["--log", log])
  swarm.follow("it works") { File.exist?(log) && File.read(log).scan("node_ready").size == 3 }
  feed = swarm.follow_socket("idle")
  quiet = Scenario::Storm::QUIET
  told = Hash.new(0)
  hear = lambda do |name, times|
    deadline = Skep::OS.now + Scenario::SECONDS
    while told[name] < times
      must("answer with #{name}; told #{told}") do
        feed.to_io.wait_readable([deadline - Skep::OS.now, 0].max) && !feed.ended?
      end
      feed.read.each { |event| told[event["event"]] += 1 }
    end
  end

  mold = JSON.parse(File.readlines(log).grep(/mold_ready/).first)["pid"]
  nodes = swarm.status("idle")["nodes"].map { |node| node["pid"] }
  blow = ->(pids, names) { Scenario::Storm.new(pids, names, seconds) }
  grown = -> { Skep::OS::Memory.of(swarm.pid).uss }
  sent = blow.call([swarm.pid], [*quiet, "USR1"]).wait # warms up
  before = grown.call
  2.times { sent += blow.call([swarm.pid], [*quiet, "USR1"]).wait }
  must("keep its memory: #{before}, #{grown.call}") { grown.call < before * 1.25 }

  storms = [[swarm.pid], [mold, *nodes]].map { |pids| blow.call(pids, quiet) }
  5.times do |number|
    swarm.kill(swarm.status("idle")["nodes"][number % 3]["pid"])
    hear.call("node_ready", number + 1)
  end
  sent += storms.sum(&:wait)
  must("lose no event: #{feed.lost}") { feed.lost.zero? }
  must("have been a storm: #{sent} signals") { sent > 5_000 * seconds }

  storm = blow.call([swarm.pid], [*quiet, "USR1", "TTIN"])
  storm.begun
  status = swarm.stop
  puts "#{sent + storm.wait} signals"
  must("stop with 0 in the midst of it: #{status.inspect} #{swarm.stderr}") do
    status.exitstatus == 0
  end
  feed.close
end
