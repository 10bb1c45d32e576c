# frozen_string_literal: true

# A node is hung if one of its worker threads is stuck with an item in flight, even if its other
# threads work and its main thread beats. A node is not hung because of a thread without an item, or
# within `busy`.
require_relative "scenario"

SOURCE = <<~RUBY
  # A source with three worker threads, each with its own jobs.
  class Jobs
    def errors = []
    def facts = { kind: "jobs" }
    def threads = 3

    def run(node, handler)
      node.ready!
      workers = (1..threads).map do |number|
        Thread.new { work(node.thread(number), handler) }
      end
      node.wait until node.stopping?
      workers.each(&:kill).each(&:join)
    end

    def work(node, handler)
      until node.stopping?
        node.in_flight("a job")
        handler.call(node, Thread.current)
        node.in_flight(nil)
        node.wait(0.05)
      end
    end
  end

  first = !File.exist?("\#{__dir__}/again")
  Skep.swarm "jobs", nodes: 2, liveness_timeout: 1, kill_timeout: 1, max_restarts: 100 do |swarm|
    block = ->(seconds = nil) { IO.select(nil, nil, nil, seconds) }
    swarm.work(Jobs.new) do |node, thread|
      node.processed
      turn = @jobs = @jobs.to_i + 1
      next unless turn == 3 && !File.exist?("\#{__dir__}/again\#{node.id}")

      File.write("\#{__dir__}/again\#{node.id}", "")
      case node.id
      when 0
        node.in_flight("the job that hangs")
        block.call
      when 1 # jobs of two timeouts, within `busy`, and with beats from another thread
        node.busy(for: 60) { block.call(2.2) }
        ended = Queue.new
        helper = Thread.new { 6.times { node.beat; block.call(0.4) }; ended << true }
        ended.pop
        helper.join
        node.event(:long_jobs_done)
      end
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 2)
  hung = swarm.await("node_hung")
  must("publish the thread and its job: #{hung}") do
    hung["node"].zero? && (1..3).cover?(hung["thread"]) &&
      hung["in_flight"].first == "the job that hangs"
  end
  died = swarm.await(GONE)
  must("replace the node: #{died}") { died.values_at("node", "reason") == [0, "hung"] }
  swarm.await("node_ready")
  swarm.await("long_jobs_done")
  restarts = swarm.status("jobs")["nodes"].map { |node| node["restarts"] }
  must("leave the long jobs alone: #{restarts}") { restarts == [1, 0] }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
