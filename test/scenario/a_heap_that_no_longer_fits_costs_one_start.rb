# frozen_string_literal: true

# What a mold is given of its last heap may be more than there is memory for by now, or nonsense:
# the start that fails on it is the last one.
require_relative "scenario"

# Only the size of a large heap is kept.
SOURCE = <<~RUBY
  Skep.swarm "large", nodes: 3 do |swarm|
    swarm.preload { $kept = Array.new(300_000) { Object.new } }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

Scenario.play do
  skip "this Ruby's molds are given no heap beforehand" if RUBY_VERSION >= "3.2"

  little = "Process.setrlimit(:AS, 1 << 30)" # bytes of addresses
  first = run_swarm(SOURCE, before: little)
  first.await("node_ready", times: 3)
  must("end with 0") { first.stop.success? }

  record = Dir.glob("#{first.directory}/heap-*.json").fetch(0)
  facts = JSON.parse(File.read(record))
  File.write(record, JSON.generate(facts.merge("slots" => 900_000_000)))
  second = run_swarm(nil, in_directory: first.directory, before: little)
  must("fail to boot") { second.wait.exitstatus == 1 }

  third = run_swarm(nil, in_directory: first.directory, before: little)
  third.await("node_ready", times: 3)
  must("end with 0") { third.stop.success? }
end
