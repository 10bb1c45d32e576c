# frozen_string_literal: true

desc "Run so many random Kafka handlers, 10,000 by default; SEED=17 repeats one"
task(:fuzz, %i[seeds first] => :compile) do |_, given|
  sh RbConfig.ruby, "-Ilib", "-Itest", "test/kafka/fuzz/command.rb",
     given.fetch(:seeds, 10_000).to_s, given.fetch(:first, 1).to_s
end
