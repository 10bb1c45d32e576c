# frozen_string_literal: true

# The operations of skep/swarm, in a swarm of two nodes without a message source. Only the
# breach has a memory_limit: with one, skep measures new nodes several times a second in any case.
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

  def operations
    { "a node's crash until its replacement is ready" => method(:crash),
      "a breach of memory_limit until the node is replaced" => method(:breach),
      "HUP until all nodes are new" => method(:reload),
      "TERM until the supervisor exits" => method(:stop) }
  end

  def part = %r{\Aswarm[/.]}

  def idle_window? = false

  def start(limit: nil)
    File.write("#{@folder}/swarm.rb", SWARM)
    @swarm = RunningSwarm.new({ **untraced, **traced, "LIMIT" => limit }, run_file("swarm"))
    @nodes = Array.new(2) { @swarm.await("node_ready")["pid"] }
    @swarm.follow(IDLE) # the mold forks a child ahead, as part of the boot
  end

  def finish
    @swarm&.signal(:TERM)
    @swarm&.wait
    @swarm = nil
  end

  def crash
    start
    from = now
    Process.kill(:KILL, @nodes.first)
    [from, @swarm.await("node_ready")["mono"]]
  end

  # The supervisor measures the node a moment before it logs the event.
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
