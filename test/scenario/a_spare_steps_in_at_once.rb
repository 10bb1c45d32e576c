# frozen_string_literal: true

# Nodes and spares are killed at random moments, several at a time, and some right after they
# stepped in. Every slot is held again, never by two processes at once. Each death is published
# once, and the spares are replaced. If a node is killed alone, a spare takes its slot. (KILLS=n
# sets the number.)
require_relative "scenario"

KILLS = Integer(ENV.fetch("KILLS", "200"))
NODES = 4

# Each holder of a slot writes when it began, and then the time every millisecond.
SOURCE = <<~'RUBY'
  Skep.swarm "spared", nodes: 4, spares: Integer(ENV["SPARES"]), max_restarts: 1_000_000,
                       boot_concurrency: 4 do |swarm|
    swarm.work do |node|
      began = Skep::OS.now
      page = File.open("#{__dir__}/holders/#{node.id}.#{Process.pid}", "w")
      page.pwrite([began].pack("D"), 0)
      raise "wrong SKEP_NODE_ID" unless ENV["SKEP_NODE_ID"] == node.id.to_s
      node.ready!
      until node.stopping?
        page.pwrite([Skep::OS.now].pack("D"), 8)
        node.wait(0.001)
      end
    end
  end
RUBY

# Reads what the holders of a swarm's slots have written.
class Holders
  def initialize(directory)
    @directory = directory
  end

  # Returns [began, last seen, pid] of each holder in order, by slot.
  def by_slot
    Dir.children(@directory).filter_map { |name| read(name) }.group_by(&:first)
       .transform_values { |all| all.map { |holder| holder.drop(1) }.sort }
  end

  private

  # Returns nil for a holder that was killed before it could write.
  def read(name)
    slot, pid = name.split(".").map(&:to_i)
    began, last = File.binread("#{@directory}/#{name}").unpack("DD")
    began && [slot, began, last || began, pid]
  end
end

# Kills one or two nodes or spares, and sometimes a spare that has just stepped in.
class Killer
  def initialize(swarm, random)
    @swarm = swarm
    @random = random
    @killed = []
  end

  attr_reader :killed

  def kill_some
    victims.sample(@random.rand(1..2), random: @random).each { |pid| kill(pid) }
    # At most 20 ms: the next kill doesn't wait for the replacement.
    @swarm.read(Skep::OS.now + (@random.rand * 0.02))
    newest = @swarm.events.reverse.find { |event| event["event"] == "spare_stepped_in" }
    kill(newest["pid"]) if newest && !@killed.include?(newest["pid"]) && @random.rand(4).zero?
  end

  # Kills the node of a slot, and no spare; waits until a spare has stepped in.
  def kill_one(slot)
    nodes = @swarm.status("spared")["nodes"]
    waiting = nodes.filter_map { |node| node["pid"] if node["state"] == "spare" }
    kill(nodes.find { |node| node["id"] == slot }["pid"])
    @swarm.await("spare_stepped_in") do |event|
      event["node"] == slot && waiting.include?(event["pid"])
    end
  end

  private

  def victims
    @swarm.status("spared")["nodes"].filter_map { |node| node["pid"] } - @killed
  end

  def kill(pid)
    @killed << pid
    @swarm.kill(pid)
  rescue Errno::ESRCH # it was killed already, which the status doesn't show yet
    nil
  end
end

Scenario.play do
  [1, 2].each do |spares|
    swarm = run_swarm(SOURCE, env: { "SPARES" => spares.to_s },
                              prepare: ->(place) { Dir.mkdir("#{place}/holders") })
    swarm.await("node_ready", times: NODES)
    swarm.await("spare_ready", times: spares)
    seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000))
    killer = Killer.new(swarm, Random.new(seed))
    killer.kill_some while killer.killed.size < KILLS

    complete = lambda do
      nodes = swarm.status("spared")["nodes"]
      noticed = nodes.none? { |node| killer.killed.include?(node["pid"]) }
      noticed && nodes.map { |node| node["state"] }.tally == { "ready" => NODES, "spare" => spares }
    end
    swarm.follow("all slots are held and all spares are back, seed #{seed}", &complete)
    NODES.times do |slot|
      killer.kill_one(slot)
      swarm.follow("slot #{slot} is held and its spare is back", &complete)
    end
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
    named = ->(name) { swarm.events.select { |event| event["event"] == name } }
    died = GONE.flat_map(&named).map { |event| event["pid"] }
    twice = died.tally.select { |_, times| times > 1 }
    must("publish each death: #{killer.killed - died}") { (killer.killed - died).empty? }
    must("publish each death once: #{twice}") { twice.empty? }

    holders = Holders.new("#{swarm.directory}/holders").by_slot
    holders.each do |slot, all|
      must("never have two holders of slot #{slot}: #{all}, seed #{seed}") do
        all.each_cons(2).all? { |one, other| one[1] < other[0] }
      end
    end

    stepped = named.call("spare_stepped_in").size
    puts "#{spares} spares: #{killer.killed.size} kills, #{stepped} replaced by spares"
  end
end
