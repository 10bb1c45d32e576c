# frozen_string_literal: true

# A swarm reports many events while a page and `skep events --follow` are open. The first two fifths
# fill the history; after them the memory of the supervisor, of the page's server, of the command
# and of the page hardly grows. (EVENTS=100000 for more.)
require_relative "scenario"

EVENTS = Integer(ENV.fetch("EVENTS", "20000"))
ROUNDS = 5
TEXT = "something that has happened " * 72
MOST = 8 << 20 # bytes; the texts of two rounds have twice as many
SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 2 do |swarm|
    swarm.work do |node|
      node.ready!
      1.upto(#{ROUNDS}) do |round|
        node.wait(0.1) until node.stopping? || File.exist?("\#{__dir__}/round\#{round}")
        break if node.stopping?

        #{EVENTS / ROUNDS / 2}.times do |number|
          node.event(:noise, round:, number:, text: #{TEXT.inspect})
          node.wait(0.03) if (number % 20).zero?
        end
        File.write("\#{__dir__}/over\#{round}.\#{node.id}", "") # an event may be dropped
      end
      node.wait until node.stopping?
    end
  end
RUBY

class ManyEvents < WebScenario
  def play_out
    swarm = run_swarm(SWARM)
    swarm.await("node_ready", times: 2)
    url = serve(swarm)
    pids = { "supervisor" => swarm.pid, "page's server" => web_pid, "events" => follower(swarm) }
    browse do |browser|
      (page = browser.page).visit(url)
      compare(Array.new(ROUNDS) { |round| round(swarm, round + 1, pids, page) })
    end
    must("replace no node") { swarm.events.none? { |event| event["event"] == "node_died" } }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end

  private

  def follower(swarm)
    command = [RbConfig.ruby, RunningSwarm::SKEP, "events", "--follow", "hive"]
    env = { "SKEP_RUN_DIR" => swarm.directory }
    process = Skep.pidfd(Process.spawn(env, *command, out: File::NULL))
    at_end { Scenario.kill(process) }
    process.pid
  end

  # Returns the bytes that each has after the round's events.
  def round(swarm, number, pids, page)
    File.write("#{swarm.directory}/round#{number}", "")
    swarm.follow("both nodes have reported theirs", seconds: 60 + (EVENTS / 100)) do
      Dir["#{swarm.directory}/over#{number}.*"].size == 2
    end
    page.await("document.body.textContent.includes('something that has happened')")
    used = pids.transform_values { |pid| Skep::OS::Memory.of(pid).uss }
    { **used, "page" => page.heap }
  end

  def compare(rounds)
    rounds.each { |used| puts used.map { |name, bytes| "#{name} #{bytes >> 10} KiB" }.join(", ") }
    # The less of two rounds: a collection may be due.
    before, after = [rounds[1, 2], rounds[3, 2]].map do |two|
      two.reduce { |one, other| one.merge(other) { |_, *bytes| bytes.min } }
    end
    grown = after.to_h { |name, bytes| [name, bytes - before[name]] }
    must("grow by less than #{MOST >> 20} MiB in #{EVENTS * 2 / 5} events: #{grown}") do
      grown.each_value.all? { |bytes| bytes < MOST }
    end
  end
end

ManyEvents.play { play_out }
