# frozen_string_literal: true

# The heap size hint of a mold may be wrong, or larger than the available memory. One boot fails
# with it, then skep forgets the hint.
require_relative "scenario"

# skep remembers the size of large heaps only.
SOURCE = <<~RUBY
  Skep.swarm "large", nodes: 3 do |swarm|
    swarm.preload { $kept = Array.new(300_000) { Object.new } }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

Scenario.play do
  skip "molds get no heap size hint from Ruby 3.2 on" if RUBY_VERSION >= "3.2"

  limited = "Process.setrlimit(:AS, 1 << 30)" # bytes of address space
  first = run_swarm(SOURCE, before: limited)
  first.await("node_ready", times: 3)
  must("end with 0") { first.stop.success? }

  record = Dir.glob("#{first.directory}/heap-*.json").fetch(0)
  facts = JSON.parse(File.read(record))
  File.write(record, JSON.generate(facts.merge("slots" => 900_000_000)))
  second = run_swarm(nil, in_directory: first.directory, before: limited)
  must("fail to boot") { second.wait.exitstatus == 1 }

  third = run_swarm(nil, in_directory: first.directory, before: limited)
  third.await("node_ready", times: 3)
  must("end with 0") { third.stop.success? }
end
