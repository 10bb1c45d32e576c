# frozen_string_literal: true

# Nodes of many maps are killed at random moments. Each map returns the right results, or raises
# NodeDied with the item that was in flight at two deaths. No child, descriptor or thread is left.
# (ROUNDS=n sets the number of maps, SEED=n repeats the same kills.)
require_relative "scenario"

# Kills children of this process at random moments, from a thread.
class Killer
  def initialize(random)
    @random = random
    @orders = Thread::Queue.new
    @kills = 0
    @thread = Thread.new { play }
  end

  attr_reader :kills

  def start = @orders << @random.rand(1..3)

  def close
    @orders.close
    @thread.join
  end

  private

  def play
    while (times = @orders.pop)
      times.times { IO.select(nil, nil, nil, @random.rand(0.02)) || kill }
    end
  end

  def kill
    pid = children.sample(random: @random) or return
    pidfd = Skep.pidfd(pid)
    pidfd.signal(:KILL) if children.include?(pid) # otherwise its pid may be reused
    @kills += 1
  rescue Errno::ESRCH
    nil # it has ended already
  ensure
    pidfd&.close
  end

  def children = Dir["/proc/self/task/*/children"].flat_map { |path| pids(path) }

  def pids(path)
    File.read(path).split.map(&:to_i)
  rescue Errno::ENOENT, Errno::ESRCH
    []
  end
end

# Maps of several kinds; each returns the expected and the actual results.
MAPS = [
  lambda do
    items = (0...20_000).to_a
    [items, Skep.map(items, nodes: 3) { |item| item }]
  end,
  lambda do
    [(1..40).map(&:to_s), Skep.map((1..40).each, nodes: 2) do |item|
      IO.select(nil, nil, nil, 0.0005)
      item.to_s
    end]
  end,
  lambda do
    items = (0...30).to_a
    [items, Skep.map(items, nodes: 2, threads: 3) do |item|
      IO.select(nil, nil, nil, 0.001) || item
    end]
  end,
  lambda do
    big = "x" * 300_000
    [[big] * 12, Skep.map((0...12).to_a, nodes: 2) { big }]
  end,
  -> { [(0...300).to_a, Skep.map((0...300).to_a, nodes: 2, ordered: false) { |item| item }.sort] }
].freeze

def resources
  children = Dir["/proc/self/task/*/children"].flat_map { |path| File.read(path).split }
  { children:, fds: Dir.children("/proc/self/fd").size, threads: Thread.list.size }
end

Scenario.play do
  rounds = Integer(ENV.fetch("ROUNDS", "100"))
  seed = Integer(ENV.fetch("SEED", Random.new_seed.to_s)) % 1_000_000
  killer = Killer.new(Random.new(seed))
  MAPS.each(&:call) # from here on Ruby has opened its own descriptors
  before = resources
  died = 0

  rounds.times do |round|
    killer.start
    expected, results = MAPS[round % MAPS.size].call
    must("return the right results in round #{round} (SEED=#{seed})") { results == expected }
  rescue Skep::NodeDied => e
    died += 1
    must("name the signal and the item: #{e.message}") { e.signal == "KILL" && e.index && e.item }
  end
  killer.close
  GC.start
  puts "#{rounds} maps, #{killer.kills} kills, #{died} items that were hit twice (SEED=#{seed})"
  must("kill nodes") { killer.kills > rounds / 10 }
  after = resources.merge(threads: resources[:threads] + 1) # the Killer's
  must("leave no child, descriptor or thread: #{before} -> #{after}") { after == before }
end
