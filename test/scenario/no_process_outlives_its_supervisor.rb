# frozen_string_literal: true

# After SIGKILL to the supervisor every node ends, whatever it is doing. The mold, the helper and
# all processes that these have started end, too. Healthy nodes finish their batch and exit with 3.
# Without the C extension only the mold can end a node that is stopped, or stuck in C.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  # Starts a child and an orphan.
  def start_some = [spawn("sleep infinity"), `sleep infinity >/dev/null & echo $!`.to_i]

  def note(role, pids = start_some)
    File.write("#{__dir__}/#{role}.#{$$}", [$$, *pids].join(" "))
  end

  NODES = 6

  Skep.swarm "doomed", nodes: NODES, orphan_timeout: 1.5, liveness_timeout: 1_000,
                       max_restarts: 1_000_000 do |swarm|
    swarm.preload { note("mold") }
    swarm.on(:mold_ready) { |_| note("helper") }
    swarm.on_boot { Process::UID.change_privilege(65_534) if ANOTHER_USER }
    swarm.on_boot { |node| at_exit { IO.select(nil) } if node.id == 5 }
    swarm.work do |node|
      note("node")
      node.ready!
      node.event(:here)
      case node.id
      when 0 # a batch that takes its time
        node.wait until node.stopping?
        IO.select(nil, nil, nil, 0.3)
        File.write("#{__dir__}/finished", node.stopping?)
      when 1 then IO.select(nil) # stuck in Ruby
      when 2 then STUCK ? hang : IO.select(nil)
      else node.wait until node.stopping?
      end
    end
  end
RUBY
NODES = 6

Scenario.play do
  # Starts a swarm, calls the block with it, and kills its supervisor.
  play = lambda do |what, another_user: false, stuck: true, &harm|
    place = Dir.mktmpdir("round", directory)
    File.chmod(0o1777, directory, place) # another user's nodes write there too
    constants = "ANOTHER_USER = #{another_user}\nSTUCK = #{stuck}\n"
    swarm = run_swarm(constants + SOURCE, in_directory: place)
    nodes = swarm.await("here", times: NODES).to_h { |event| [event["node"], event["pid"]] }
    swarm.follow("#{what}: the helper's note") do
      Dir.glob("#{swarm.directory}/helper.*").any? { |path| File.read(path).split.size == 3 }
    end
    harm&.call(swarm, nodes)
    swarm.kill(nodes[3], :STOP) if stuck
    healthy = Skep.pidfd(nodes[0])
    swarm.signal(:KILL)
    notes = Dir.glob("#{swarm.directory}/*.*").grep(/\.\d+\z/)
    all = notes.flat_map { |path| File.read(path).split }
    must("#{what}: have noted 3 processes for each of #{NODES + 2}: #{all}") do
      all.size >= 3 * (NODES + 2)
    end
    await_exit(all.map(&:to_i) - [0]) # 0: killed before it had written its pid
    must("#{what}: let the healthy node finish") { File.exist?("#{swarm.directory}/finished") }
    status = healthy.wait(timeout: 0)
    must("#{what}: end the node with 3, if the status is known: #{status.inspect}") do
      status.exitstatus.nil? || status.exitstatus == 3
    end
    healthy.close
  end

  play.call("at work")
  stuck = Skep::OS.native?
  play.call("the mold killed before", stuck:) do |swarm, _|
    swarm.kill(swarm.await("mold_ready")["pid"])
    swarm.await("mold_ready")
  end
  if Skep::OS.native? # nothing resumes it otherwise
    play.call("the mold stopped") { |swarm, _| swarm.kill(swarm.await("mold_ready")["pid"], :STOP) }
  end
  play.call("mold and supervisor at once", stuck:) do |swarm, _|
    swarm.kill(swarm.await("mold_ready")["pid"])
  end
  play.call("another user", another_user: true) if Process.uid.zero?
end
