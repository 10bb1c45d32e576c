# frozen_string_literal: true

# What is done to a swarm and its broker while they work. Some of it lasts; what ends it is done
# when its time has come.
#
#   deeds = Deeds.new(broker, random, ["readers"]) { |name| start(name) }   # runs a swarm (again)
#   deeds.do(:kill)
#   deeds.finish                  # what has lasted long enough; deeds.next_end says when that is
#   deeds.told                    # => { kill: 3, broker: 1 }
class Deeds
  STOPPED = 9.0 # seconds: past the session's end
  AWAY = 2.0

  attr_reader :swarm, :told, :swarms

  def initialize(broker, random, names = ["readers"], &start)
    @broker = broker
    @random = random
    @start = start
    @names = names
    @swarms = names.map(&start)
    @swarm = @swarms.first
    @lasting = []
    @told = Hash.new(0)
  end

  def do(name)
    public_send(*name)
    @told[Array(name).first] += 1
  rescue Errno::ESRCH # who was chosen is gone already
    nil
  end

  def finish(all: false)
    over, @lasting = @lasting.partition { |moment, _| all || moment <= Skep::OS.now }
    over.each { |_, deed| deed.call }
  end

  def next_end = @lasting.map(&:first).min

  def kill = somebody&.then { |pid| @swarm.kill(pid) }

  # Not waiting for those it leaves behind.
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
    lasts(seconds) do
      @broker.start
      @away = false
    end
  end

  def stop
    pid = somebody or return
    @swarm.kill(pid, :STOP)
    lasts(STOPPED) do
      @swarm.kill(pid, :CONT)
    rescue Errno::ESRCH # it was killed meanwhile
      nil
    end
  end

  def scale(nodes) = @swarm.skep("scale", nodes.to_s)

  # Whoever has only just been executed hears no signal yet, and this one would end it.
  def restart
    @swarm.follow("it hears signals") { @swarm.events.any? }
    @swarm.signal(:USR2)
  end

  private

  def lasts(seconds, &deed) = @lasting << [Skep::OS.now + seconds, deed]

  def somebody
    ready = @swarm.status(@names.first)["nodes"].select { |node| node["state"] == "ready" }
    ready.sample(random: @random)&.fetch("pid")
  rescue Skep::Error # it has only just been started
    nil
  end
end
