# frozen_string_literal: true

desc "Run so many random Kafka handlers, 10,000 by default; SEED=17 repeats one"
task(:fuzz, %i[seeds first] => :compile) do |_, given|
  given.with_defaults(seeds: 10_000, first: 1)
  sh RbConfig.ruby, "-Ilib", "-Itest", "test/kafka/fuzz/command.rb", given.seeds.to_s,
     given.first.to_s
end
