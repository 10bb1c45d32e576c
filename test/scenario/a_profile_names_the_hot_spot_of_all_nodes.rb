# frozen_string_literal: true

# `skep profile` of four nodes that work names a planted hot spot, and its share of the CPU time,
# within three percentage points; the shares of the others too, the topic's place, and each node. A
# node that is killed meanwhile is named, and the others are shown; so is one that is stopped. A
# second profile at the same time is refused. The nodes go on working.
require_relative "scenario"

SOURCE = <<~RUBY
  module Bill
    def self.sixty
      i = 0
      i += 1 while i < 30_000
    end

    def self.thirty
      i = 0
      i += 1 while i < 30_000
    end

    def self.ten
      i = 0
      i += 1 while i < 30_000
    end
  end

  Skep.swarm "hot", nodes: 4, liveness_timeout: 120 do |swarm|
    swarm.work "bills" do |node|
      node.ready!
      until node.stopping?
        node.beat
        # In no order: a fixed one could keep step with the kernel's clock.
        case rand(10)
        when 0...6 then Bill.sixty
        when 6...9 then Bill.thirty
        else Bill.ten
        end
      end
    end
  end
RUBY
SHARES = { "Bill.sixty" => [60, 3], "Bill.thirty" => [30, 3], "Bill.ten" => [10, 2] }.freeze
ENOUGH = 2_500 # samples: three points are three standard deviations then
LONGEST = 240

# As long as a busy machine takes to give the nodes so much CPU time.
def seconds_for(samples, swarm)
  file = "#{directory}/first.json"
  first = JSON.parse(swarm.output_of("profile", "2", "--json", "--output", file))
  rate = first["nodes"].sum { |node| node["samples"] } / 2.0
  must("take samples of all nodes: #{first}") { rate.positive? && first["nodes"].size == 4 }
  (samples / rate).ceil.clamp(3, LONGEST)
end

Scenario.play do
  missing "skep's C part" unless Skep::OS.native?
  swarm = run_swarm(SOURCE)
  ready = swarm.await("node_ready", times: 4)

  file = "#{directory}/hot.json"
  seconds = seconds_for(ENOUGH, swarm)
  shown = JSON.parse(swarm.output_of("profile", "hot", seconds.to_s, "--json", "--output", file))
  shares = shown["top"].to_h { |row| [row["name"], row["percent"]] }
  SHARES.each do |name, (share, within)|
    must("find #{name} at #{share}%: #{shares}") { (shares[name].to_f - share).abs <= within }
  end
  hottest = shown["top"].first
  line = SOURCE.lines.index { |text| text.include?("def self.sixty") } + 3
  must("name the hot spot's file and line: #{hottest}") do
    hottest["name"] == "Bill.sixty" && hottest["file"].end_with?("/swarm.rb") &&
      hottest["line"] == line
  end
  must("show each node by its work: #{shown["nodes"]}") do
    works = shown["nodes"].to_h { |node| node.values_at("id", "work") }
    works == { 0 => "bills", 1 => "bills", 2 => "bills", 3 => "bills" }
  end
  speedscope = JSON.parse(File.read(file))
  must("write a file for speedscope") do
    speedscope["profiles"].first["samples"].size.positive? &&
      speedscope["shared"]["frames"].any? { |frame| frame["name"] == "Bill.sixty" }
  end
  must("list methods in a table") do
    output = swarm.output_of("profile", "1", "--output", file)
    output.match?(/^\d+\.\d+% .*Bill\.sixty +.*swarm\.rb:\d+/)
  end

  first = swarm.client("hot").call_async("profile", seconds: 30)
  refused = swarm.skep("profile", "1", "--output", file)
  must("refuse a second profile, and say when to try again: #{refused}") do
    refused&.match?(/another profile .* try again in \d+ s/)
  end
  swarm.kill(ready[1]["pid"])
  died = swarm.await("node_died")
  answer = first.wait(Skep::OS.now + Patience.of(60))
  first.close
  missing = answer.dig("profile", "missing").map { |node| node.values_at("node", "pid", "why") }
  must("name the node that died: #{missing}") do
    missing == [[died["node"], died["pid"], "it ended meanwhile"]]
  end
  must("have the others") { answer.dig("profile", "nodes").size == 3 }

  swarm.await("node_ready")
  stopped = ready[2]["pid"]
  swarm.kill(stopped, :STOP)
  output, status = swarm.command("profile", "2", "--output", file)
  swarm.kill(stopped, :CONT)
  must("show the others of a stopped node: #{output}") do
    status.success? && output.match?(/node #{ready[2]["node"]} \(pid #{stopped}\) .* didn't answer/)
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
