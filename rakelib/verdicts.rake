# frozen_string_literal: true

desc "Plant so many faults (30 of all kinds) in swarms, and see whose they are said to be"
task(:verdicts, %i[kind count seed] => :compile) do |_, given|
  what = [given.fetch(:kind, "all"), given.fetch(:count, 30), given.fetch(:seed, 1)]
  sh RbConfig.ruby, "-r./test/load_path", "skep-kafka/test/kafka/verdicts/command.rb",
     *what.map(&:to_s)
end

desc "The same with simulated processes on a clock that jumps"
task("verdicts:simulated", %i[kinds count seed] => :compile) do |_, given|
  what = [given.fetch(:kinds, "all"), given.fetch(:count, 80), given.fetch(:seed, 1)]
  program = "skep-kafka/test/kafka/verdicts/simulated_campaign.rb"
  sh RbConfig.ruby, "-r./test/load_path", program, *what.map(&:to_s)
end
