# frozen_string_literal: true

# The ways of lib/skep/swarm: a swarm of two nodes without a message source. Only the breach has a
# memory_limit: with one, young nodes are looked at several times a second, whatever else goes on.
class SwarmJourneys < Journeys
  IDLE = 0.5 # seconds
  SWARM = <<~RUBY
    Skep.swarm "journeys", nodes: 2, max_restarts: 1_000, memory_limit: ENV["LIMIT"] do |swarm|
      swarm.work do |node|
        node.ready!
        until node.stopping?
          $kept = "x" * (150 << 20) if File.exist?("\#{__dir__}/grow") && node.id.zero? && !$kept
          node.wait(0.05)
        end
      end
    end
  RUBY
  private_constant :IDLE, :SWARM

  private

  def ways
    { "a node's death to its replacement's readiness" => method(:death),
      "a memory limit's breach to the node replaced" => method(:breach),
      "HUP to all nodes new" => method(:reload),
      "TERM to the supervisor's end" => method(:stop) }
  end

  def part = %r{\Aswarm[/.]}

  def idle_window? = false

  def start(limit: nil)
    File.write("#{@folder}/swarm.rb", SWARM)
    @swarm = RunningSwarm.new({ **untraced, **traced, "LIMIT" => limit }, run_file("swarm"))
    @nodes = Array.new(2) { @swarm.await("node_ready")["pid"] }
    @swarm.follow(IDLE) # the mold forks a child ahead: that belongs to the boot
  end

  def finish
    @swarm&.signal(:TERM)
    @swarm&.wait
    @swarm = nil
  end

  def death
    start
    from = now
    Process.kill(:KILL, @nodes.first)
    [from, @swarm.await("node_ready")["mono"]]
  end

  # The supervisor measures a moment before it logs the event.
  def breach
    start(limit: "120M")
    File.write("#{@folder}/grow", "")
    from = @swarm.await("node_over_limit")["mono"] - 0.02
    [from, @swarm.await("node_replaced")["mono"]]
  end

  def reload
    start
    from = now
    @swarm.signal(:HUP)
    [from, @swarm.await("reload_finished", "reload_#{"done"}")["mono"]]
  end

  def stop
    start
    from = now
    finish
    [from, now]
  end
end
