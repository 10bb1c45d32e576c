# frozen_string_literal: true

# Disrupts a swarm and its broker while they work. Some disruptions last: `end_due` ends them after
# their time.
#
#   disruptions = Disruptions.new(broker, random, ["readers"]) { |name| start(name) }
#   disruptions.apply(:kill)
#   disruptions.end_due           # ends those whose time is over; next_end returns the next time
#   disruptions.counts            # => { kill: 3, broker: 1 }
#
# The block starts a swarm: at first, and again after its supervisor was killed.
class Disruptions
  STOPPED = 9.0 # seconds, longer than the session timeout
  AWAY = 2.0

  attr_reader :swarm, :counts, :swarms

  def initialize(broker, random, names = ["readers"], &start)
    @broker = broker
    @random = random
    @start = start
    @names = names
    @swarms = names.map(&start)
    @swarm = @swarms.first
    @lasting = []
    @counts = Hash.new(0)
  end

  def apply(name)
    public_send(*name)
    @counts[Array(name).first] += 1
  rescue Errno::ESRCH # the chosen node has already exited
    nil
  end

  def end_due(all: false)
    due, @lasting = @lasting.partition { |moment, _| all || moment <= Skep::OS.now }
    due.each { |_, ending| ending.call }
  end

  def next_end = @lasting.map(&:first).min

  def kill = random_ready_pid&.then { |pid| @swarm.kill(pid) }

  # Kills the supervisor and starts it again, without waiting for its orphaned nodes.
  def supervisor
    @swarm.signal(:KILL)
    @swarm.wait
    @swarm = @swarms[0] = @start.call(@names.first)
  end

  def broker = outage(AWAY)

  def outage(seconds)
    return if @away

    @away = true
    @broker.kill
    end_after(seconds) do
      @broker.start
      @away = false
    end
  end

  def stop
    pid = random_ready_pid or return
    @swarm.kill(pid, :STOP)
    end_after(STOPPED) do
      @swarm.kill(pid, :CONT)
    rescue Errno::ESRCH # another disruption has killed it
      nil
    end
  end

  def scale(nodes) = @swarm.skep("scale", nodes.to_s)

  # A supervisor that has just been executed has no trap yet: SIGUSR2 would kill it.
  def restart
    @swarm.follow("the supervisor handles signals") { @swarm.events.any? }
    @swarm.signal(:USR2)
  end

  private

  def end_after(seconds, &ending) = @lasting << [Skep::OS.now + seconds, ending]

  def random_ready_pid
    ready = @swarm.status(@names.first)["nodes"].select { |node| node["state"] == "ready" }
    ready.sample(random: @random)&.fetch("pid")
  rescue Skep::Error # the supervisor has just been started
    nil
  end
end
