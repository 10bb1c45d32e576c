# frozen_string_literal: true

# The supervisor on a simulated clock and kernel, with random events (test/simulation).

# A seed's objects are short-lived: a large heap and YJIT allow more seeds per second.
SIMULATION_HEAP = {
  "RUBY_GC_HEAP_INIT_SLOTS" => "800000", "RUBY_GC_HEAP_FREE_SLOTS" => "400000",
  "RUBY_GC_MALLOC_LIMIT" => "200000000", "RUBY_GC_MALLOC_LIMIT_MAX" => "400000000",
  "RUBY_GC_OLDMALLOC_LIMIT" => "400000000"
}.freeze

def simulation(*arguments)
  yjit = ["--yjit", "--yjit-call-threshold=30"] if defined?(RubyVM::YJIT)
  sh SIMULATION_HEAP, RbConfig.ruby, *yjit, "-r./test/load_path", "test/simulation/command.rb",
     *arguments.map(&:to_s)
end

desc "Run so many seeds of the simulation, 10,000 by default"
task(:simulation, %i[seeds first] => :compile) do |_, given|
  simulation("seeds", given.fetch(:seeds, 10_000), given.fetch(:first, 1))
end

desc "Replay a seed of the simulation, and reduce it if it breaks an invariant"
task("simulation:seed", [:seed] => :compile) { |_, given| simulation("seed", given.fetch(:seed)) }

desc "Plant mutations in the supervisor: the simulation must find each"
task("simulation:mutations", [:name] => :compile) do |_, given|
  simulation("mutations", *given.to_a)
end

desc "Show what lines of the supervisor so many seeds don't reach"
task("simulation:coverage", [:seeds] => :compile) do |_, given|
  simulation("coverage", given.fetch(:seeds, 2_000))
end
