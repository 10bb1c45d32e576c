# frozen_string_literal: true

# For GARBAGE_SECONDS, node 1 writes random bytes into its cells of the shared page, and node 2
# writes random bytes, random frames and messages with odd facts into its channel. Only these two
# are replaced. The others keep their processes, the supervisor keeps its memory and descriptors,
# answers at any time, and reports no error of its own.
require_relative "scenario"

SECONDS = Float(ENV.fetch("GARBAGE_SECONDS", "6"))
SOURCE = <<~'RUBY'
  # The object of skep's that this process uses.
  def skeps(name) = ObjectSpace.each_object(Object.const_get("Skep::#{name}"))

  TYPES = %w[ready leaving finished work event failed forked exited stop unhealthy warm spare].freeze
  FACTS = [{}, [], nil, 3, { "facts" => nil }, { "pid" => -1 }, { "sentence" => "\u0000" }].freeze
  ODD = [
    ["replace", { "why" => "unfit", "event" => "odd", "facts" => { "at" => "x", "pid" => [], "why" => 1 } }],
    ["backtraces", { "threads" => [{ "name" => "", "tid" => {}, "backtrace" => [] }] }],
    ["work", { "facts" => { "kind" => { "a" => "b" }, "done" => "x", "rate" => [] } }]
  ].freeze
  FRAME = ->(text) { [text.bytesize, 1, 0].pack("NCC") + text }
  GARBAGE = [
    ->(random) { FRAME.call(JSON.generate(ODD.sample(random:))) },
    ->(_random) { FRAME.call('["work",{"facts":{"lag":1e999}}]') },
    ->(random) { random.bytes(1 + random.rand(300)) },
    ->(random) { [random.rand(2**32), 1, 0].pack("NCC") + random.bytes(50) },
    ->(random) { random.bytes(20).then { |bytes| [bytes.size, 1, 3].pack("NCC") + bytes } },
    ->(random) { FRAME.call(JSON.generate([TYPES.sample(random:), FACTS.sample(random:)])) }
  ].freeze

  Skep.swarm "dirty", nodes: 4, max_restarts: 1_000_000, liveness_timeout: 2, stop_timeout: 2,
                      kill_timeout: 1 do |swarm|
    swarm.work do |node|
      node.ready!
      node.in_flight("honest work")
      random = Random.new
      channel = skeps("Swarm::IPC::Channel").reject(&:closed?).last.to_io
      page = skeps("OS::SharedPage").first
      layout = skeps("Swarm::IPC::Scoreboard::Layout").first
      index = node.instance_variable_get(:@page_index)
      cells = [*layout.all(index), layout.memory(index)]
      until node.stopping?
        case node.id
        when 1
          cell = cells.sample(random:)
          1.upto(15) { |word| page.set(cell, word, random.rand(2**64)) }
          page.write(cell, random.bytes(random.rand(438)))
          node.wait(0.002)
        when 2
          channel.write_nonblock(GARBAGE.sample(random:).call(random), exception: false)
          node.wait(0.02)
        else
          node.processed(1)
          node.wait(0.05)
        end
      end
    rescue Errno::EPIPE
      nil # The supervisor has closed its channel.
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  ready = swarm.await("node_ready", times: 4).to_h { |one| one.values_at("node", "pid") }
  honest = ready.values_at(0, 3)
  supervisor = lambda do
    { memory: File.read("/proc/#{swarm.pid}/statm").split[1].to_i * 4096,
      descriptors: Dir.children("/proc/#{swarm.pid}/fd").size }
  end
  swarm.follow_for(1)
  before = supervisor.call
  from = Skep::OS.now
  looks = 0
  while Skep::OS.now < from + SECONDS
    status = swarm.status("dirty")
    must("keep the honest nodes' processes: #{status["nodes"]}") do
      status["nodes"].values_at(0, 3).map { |node| node["pid"] } == honest
    end
    looks += 1
    swarm.follow_for(0.2)
  end
  must("answer at any time: #{looks}") { looks > SECONDS }

  failed = swarm.events.select { |one| one["event"] == "node_protocol_error" }
  must("report the garbage of node 2 only: #{failed.size}") do
    failed.any? && failed.map { |one| one["node"] }.uniq == [2]
  end
  gone = swarm.events.select { |one| GONE.include?(one["event"]) }.map { |one| one["node"] }.tally
  must("end no other node: #{gone}") { (gone.keys - [1, 2]).empty? && gone[2] }
  must("replace that node each time") do
    swarm.await("node_ready") { |one| one["node"] == 2 }
  end
  status = swarm.status("dirty")
  done = status["nodes"].values_at(0, 3).map { |node| node.dig("work", "done") }
  must("count what the honest nodes do: #{done}") do
    done.all? { |count| count.between?(SECONDS, SECONDS * 60) }
  end
  after = supervisor.call
  must("keep its memory: #{before} #{after}") do
    after[:memory] < before[:memory] + (20 << 20)
  end
  must("keep its descriptors: #{before} #{after}") do
    after[:descriptors] <= before[:descriptors] + 4 # of a process that boots
  end
  ours = %w[supervisor_error mold_died mold_protocol_error]
  bugs = swarm.events.select { |one| ours.include?(one["event"]) }
  must("have no error of its own: #{bugs.first}") { bugs.empty? }
  swarm.signal(:TERM)
  code = swarm.wait.exitstatus
  must("stop, also if node 1 has to be killed: #{code}") { [0, 2].include?(code) }
  nothing_left(swarm)
end
